// @bun
var __create=Object.create;var __getProtoOf=Object.getPrototypeOf;var __defProp=Object.defineProperty;var __getOwnPropNames=Object.getOwnPropertyNames;var __hasOwnProp=Object.prototype.hasOwnProperty;function __accessProp(key){return this[key]}var __toESMCache_node;var __toESMCache_esm;var __toESM=(mod,isNodeMode,target)=>{var canCache=mod!=null&&typeof mod==="object";if(canCache){var cache=isNodeMode?__toESMCache_node??=new WeakMap:__toESMCache_esm??=new WeakMap;var cached=cache.get(mod);if(cached)return cached}target=mod!=null?__create(__getProtoOf(mod)):{};const to=isNodeMode||!mod||!mod.__esModule||!__hasOwnProp.call(mod,"default")?__defProp(target,"default",{value:mod,enumerable:true}):target;if(mod&&typeof mod==="object"||typeof mod==="function"){for(let key of __getOwnPropNames(mod))if(!__hasOwnProp.call(to,key))__defProp(to,key,{get:__accessProp.bind(mod,key),enumerable:true})}if(canCache)cache.set(mod,to);return to};var __commonJS=(cb,mod)=>()=>(mod||cb((mod={exports:{}}).exports,mod),mod.exports);var __returnValue=(v)=>v;function __exportSetter(name,newValue){this[name]=__returnValue.bind(null,newValue)}var __export=(target,all)=>{for(var name in all)__defProp(target,name,{get:all[name],enumerable:true,configurable:true,set:__exportSetter.bind(all,name)})};var __esm=(fn,res,err)=>()=>{if(fn)try{res=fn(fn=0)}catch(e){err=[e]}if(err)throw err[0];return res};var __require=import.meta.require;var maskApiKeys=(text)=>text.replace(/svc_(live|pub)_[0-9A-Za-z]{8,}/g,"svc_$1_****");var call=(operation,input={})=>({operation,input}),repeatLater,hintText=(hint,language)=>{if(typeof hint==="string")return hint;const texts=hint.map((part)=>{if(typeof part==="string")return part;if("operation"in part)return language.call(part);if("send"in part)return language.send(part.send);return"give"in part?language.give(part.give):language.repeatLater});return texts.join("")},maskMember=(value)=>typeof value==="string"?maskApiKeys(value):value,maskPart=(part)=>{if(typeof part==="string")return maskApiKeys(part);if(!("operation"in part))return part;const input=Object.entries(part.input).map(([name,value])=>[name,maskMember(value)]);return{operation:part.operation,input:Object.fromEntries(input)}},maskHint=(hint)=>typeof hint==="string"?maskApiKeys(hint):hint.map(maskPart);var init_hint=__esm(()=>{repeatLater=[{repeat:"later"},"."]});var masked=(text)=>text===undefined?undefined:maskApiKeys(text),CubbyError2;var init_errors=__esm(()=>{init_hint();CubbyError2=class CubbyError2 extends Error{name="CubbyError";code;field;hint;constructor(code,message,details={}){super(maskApiKeys(message),{cause:details.cause});this.code=code;this.field=masked(details.field);this.hint=details.hint===undefined?undefined:maskHint(details.hint)}within(prefix){return new CubbyError2(this.code,this.message,{field:this.field===undefined?prefix:`${prefix}.${this.field}`,hint:this.hint})}}});import{randomBytes}from"crypto";var base62Alphabet="0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz",randomBase62=(length)=>{let text="";while(text.length<length){for(const byte of randomBytes(length)){if(byte<248&&text.length<length)text+=base62Alphabet[byte%62]}}return text};var init_base62=()=>{};var newBucketId=()=>`bkt_${randomBase62(22)}`,isBucketId=(text)=>/^bkt_[0-9A-Za-z]{22}$/.test(text);var init_bucket_id=__esm(()=>{init_base62()});var describeValue=(value)=>{if(value===undefined)return"missing";if(value===null)return"null";if(Array.isArray(value))return"an array";if(typeof value==="object")return"an object";if(typeof value==="string"){const shown=value.length>80?`${value.slice(0,80)}\u2026`:value;return JSON.stringify(shown.toWellFormed())}return String(value)};var KIB=1024,MIB,GIB,bodyBytesMax,batchBodyBytesMax,plainBodyBytesMax,requestHeadBytesMax,keyBytesMax=1024,dataBytesMax=409600,dataDepthMax=64,ttlSecondsMax=253402300799,ttlPastSecondsMax=86400,batchOperationsMax=25,findKeysMax=100,indexFieldCharactersMax=255,indexStringBytesMax=1024,fileBytesMax,fileNameBytesMax=1024,fileNameSegmentsMax=16,fileMetadataBytesMax=2048,contentTypeCharactersMax=255,downloadNameCharactersMax=255,urlSecondsDefault=900,urlSecondsMax=604800,requestIdCharactersMax=128,keyNameCharactersMax=128,keyDatabasesMax=100,cursorCharactersMax,pageRowsDefault=100,pageRowsMax=1000,countRowsMax=1e4,pageBytesMax,pageExpiredRowsMax=1e4,bodiesInFlightBytesMax,bodyMsMax=30000,bodyChunksFreeMax=4096,bodyChunkBytesMin=256,bodyStreamBytes,bodyProgressBytesMin,answersUnsentBytesMax,answerIdleSecondsMax=10,uploadsMax=64,uploadsOfOrganizationMax=48,fileIdleMsMax=30000,requestsInFlightMax=16384,turnMsMax=5000,connectionIdleSecondsMax=60,writeQueueRequestsMax=8192,writeQueueBytesMax,connectionQueueRequestsMax=4096,commitRequestsMax=256,commitBytesMax,apiKeyCacheEntriesMax=1e4,tableCacheEntriesMax=50000,lastUsedEntriesMax=50000,recoveryMs,sweepGraceMs,clockJumpHoldMs,sweepEveryMs=60000,sweepRowsMax=50,checksumRowsMax=100,deadBlobMs,pendingBlobMs,lastUsedFlushMs=30000,stopMsMax=1e4;var init_limits=__esm(()=>{MIB=1024*KIB;GIB=1024*MIB;bodyBytesMax=1*MIB;batchBodyBytesMax=12*MIB;plainBodyBytesMax=64*KIB;requestHeadBytesMax=16*KIB;fileBytesMax=5*GIB;cursorCharactersMax=16*KIB;pageBytesMax=1*MIB;bodiesInFlightBytesMax=128*MIB;bodyStreamBytes=2*MIB;bodyProgressBytesMin=64*KIB;answersUnsentBytesMax=64*MIB;writeQueueBytesMax=128*MIB;commitBytesMax=8*MIB;recoveryMs=7*24*60*60*1000;sweepGraceMs=5*60*1000;clockJumpHoldMs=60*60*1000;deadBlobMs=60*60*1000;pendingBlobMs=24*60*60*1000});class JsonScan{#text;#what;#at=0;#level=0;#objects=0;#outer=[];#valueNext=true;constructor(text,what){this.#text=text;this.#what=what}run(units=Number.POSITIVE_INFINITY){const text=this.#text;const pause=this.#at+units;let at=this.#at;let level=this.#level;let objects=this.#objects;let valueNext=this.#valueNext;while(at<pause){let code=text.charCodeAt(at);while((code===32||code===10||code===13||code===9)&&at<pause)code=text.charCodeAt(++at);if(at>=pause)break;if(valueNext){if(code===quote){const end=scanString(text,at);if(end===-1)throw this.#fault(at,"a value",level,objects);at=end;valueNext=false}else if(code===openBrace){if((level&31)===0&&level>0)this.#outer.push(objects);objects=objects<<1|1;level++;at=skipSpace(text,at+1);if(text.charCodeAt(at)===closeBrace){valueNext=false}else{const end=scanName(text,at);if(end===-1)throw this.#nameFault(at,level);at=end}}else if(code===openBracket){if((level&31)===0&&level>0)this.#outer.push(objects);objects<<=1;level++;at=skipSpace(text,at+1);if(text.charCodeAt(at)===closeBracket)valueNext=false}else{const end=scanScalar(text,at,code);if(end===-1)throw this.#fault(at,"a value",level,objects);at=end;valueNext=false}}else if(level===0){if(at<text.length)throw this.#fault(at,"what follows a value",level,objects);break}else if(code===comma){at++;valueNext=true;if((objects&1)===1){at=skipSpace(text,at);const end=scanName(text,at);if(end===-1)throw this.#nameFault(at,level);at=end}}else if(code===((objects&1)===1?closeBrace:closeBracket)){at++;level--;objects>>=1;if((level&31)===0&&level>0)objects=this.#outer.pop()}else{throw this.#fault(at,"what follows a value",level,objects)}}this.#at=at;this.#level=level;this.#objects=objects;this.#valueNext=valueNext;return!valueNext&&level===0&&at===text.length}#nameFault(at,level){const text=this.#text;const end=text.charCodeAt(at)===quote?scanString(text,at):-1;if(end===-1)return this.#fault(at,"a name",level,1);return this.#fault(skipSpace(text,end),"a colon",level,1)}#fault(at,expected,level,objects){const text=this.#text;const container=level===0?undefined:(objects&1)===1?"object":"array";try{JSON.parse(leadTo(text,at,expected,container)+text.slice(at))}catch(error){return invalidJson(text,reasonOf(error),this.#what)}throw new Error("JSON.parse accepts a text that the scan rejects")}}var quote=34,backslash=92,comma=44,colon=58,openBracket=91,closeBracket=93,openBrace=123,closeBrace=125,skipSpace=(text,at)=>{let code=text.charCodeAt(at);while(code===32||code===10||code===13||code===9)code=text.charCodeAt(++at);return at},lastBefore=(text,at)=>{let code=text.charCodeAt(--at);while(code===32||code===10||code===13||code===9)code=text.charCodeAt(--at);return at},soughtQuotesMax=16,skipString=(text,at)=>{let close=text.indexOf('"',at+1);for(let sought=1;close!==-1&&sought<=soughtQuotesMax;sought++){let before=close-1;while(text.charCodeAt(before)===backslash)before--;if((close-before)%2===1)return close+1;close=text.indexOf('"',close+1)}if(close===-1)return-1;for(let i=text.lastIndexOf('"',close-1)+1;i<text.length;i++){const code=text.charCodeAt(i);if(code===quote)return i+1;if(code===backslash)i++}return-1},isHexDigit=(code)=>code>=48&&code<=57||code>=97&&code<=102||code>=65&&code<=70,scanEscape=(text,at)=>{switch(text.charCodeAt(at+1)){case quote:case backslash:case 47:case 98:case 102:case 110:case 114:case 116:return at+2;case 117:for(let i=at+2;i<at+6;i++)if(!isHexDigit(text.charCodeAt(i)))return-1;return at+6;default:return-1}},shortStringUnits=64,scanString=(text,at)=>{const long=at+shortStringUnits;let i=at+1;while(i<long){const code=text.charCodeAt(i);if(code===quote)return i+1;if(code===backslash){i=scanEscape(text,i);if(i===-1)return-1}else if(code>=32){i++}else{return-1}}return scanLongString(text,at,i)},scanLongString=(text,at,i)=>{const end=text.indexOf('"',i)+1;if(end===0)return-1;const string=text.slice(at,end);if(!string.includes("\\")){try{JSON.parse(string);return end}catch{return-1}}for(;;){const code=text.charCodeAt(i);if(code===quote)return i+1;if(code===backslash){i=scanEscape(text,i);if(i===-1)return-1}else if(code>=32){i++}else{return-1}}},isDigit=(code)=>code>=48&&code<=57,skipDigits=(text,at)=>{while(isDigit(text.charCodeAt(at)))at++;return at},scanNumber=(text,at)=>{let i=text.charCodeAt(at)===45?at+1:at;if(!isDigit(text.charCodeAt(i)))return-1;i=text.charCodeAt(i)===48?i+1:skipDigits(text,i);if(text.charCodeAt(i)===46){if(!isDigit(text.charCodeAt(++i)))return-1;i=skipDigits(text,i)}const code=text.charCodeAt(i);if(code!==101&&code!==69)return i;const sign=text.charCodeAt(++i);if(sign===43||sign===45)i++;return isDigit(text.charCodeAt(i))?skipDigits(text,i):-1},scanScalar=(text,at,code)=>{switch(code){case 116:return text.startsWith("true",at)?at+4:-1;case 102:return text.startsWith("false",at)?at+5:-1;case 110:return text.startsWith("null",at)?at+4:-1;default:return scanNumber(text,at)}},scanName=(text,at)=>{const end=text.charCodeAt(at)===quote?scanString(text,at):-1;if(end===-1)return-1;const next=skipSpace(text,end);return text.charCodeAt(next)===colon?next+1:-1},invalidJson=(text,reason,what)=>{if(what!==undefined)return new CubbyError2("invalid_json",`${what} is not valid JSON: ${reason}.`);return new CubbyError2("invalid_json",`The body is not valid JSON: ${reason}.`,{hint:text.startsWith("\uFEFF")?"Remove the byte order mark before the first character.":text.length===0?"Send a JSON body.":"Send one JSON value in UTF-8."})},reasonOf=(error)=>error.message.replace(/^JSON Parse error: /,"").slice(0,200),smallUnits=2048,cheapUnitsMax,cheapContainersMax=200,isCheapToBuild=(text)=>{if(text.length<=smallUnits)return true;if(text.length>cheapUnitsMax)return false;return hasAtMost(text,"{",cheapContainersMax)&&hasAtMost(text,"[",cheapContainersMax)},hasAtMost=(text,unit,most)=>{let at=-1;for(let found=0;found<=most;found++){at=text.indexOf(unit,at+1);if(at<0)return true}return false},parseJson=(text,what)=>{try{return JSON.parse(text)}catch(error){throw invalidJson(text,reasonOf(error),what)}},leadTo=(text,at,expected,container)=>{const afterComma=text.charCodeAt(lastBefore(text,at))===comma;switch(expected){case"a name":return afterComma?'{"":0,':"{";case"a colon":return'{"" ';case"a value":return container===undefined?"":container==="object"?'{"":':afterComma?"[0,":"[";case"what follows a value":return container===undefined?"0 ":container==="object"?'{"":0 ':"[0 "}},checkJson=(text,what)=>{if(isCheapToBuild(text))parseJson(text,what);else new JsonScan(text,what).run()};var init_json_scan=__esm(()=>{init_errors();cheapUnitsMax=64*1024});var stepUnits,runThrough=(steps)=>{for(;;){const step=steps.next();if(step.done===true)return step.value}};var init_steps=__esm(()=>{stepUnits=128*1024});class ObjectWalk{name="";position=-1;at;#text;#path;#names;constructor(text,at,path){this.#text=text;this.at=at;this.#path=path}next(){const text=this.#text;const at=this.position<0?inside(text,this.at):behindValue(text,this.at);this.position++;if(text.charCodeAt(at)!==quote2){this.at=at+1;return false}const nameEnd=skipString(text,at);this.name=unquote(text,at,nameEnd);if(this.#path!==undefined){this.#names??=new Set;refuseSecond(this.#names,this.name,this.#path)}this.at=skipSpace(text,skipSpace(text,nameEnd)+1);return true}}class ArrayWalk{position=-1;at;#text;constructor(text,at){this.#text=text;this.at=at}next(){const text=this.#text;this.at=this.position<0?inside(text,this.at):behindValue(text,this.at);this.position++;if(text.charCodeAt(this.at)!==closeBracket2)return true;this.at++;return false}}function*readEnvelope(text,at,path,{keeps=true,into}={}){const start=skipSpace(text,at);if(text.charCodeAt(start)!==openBrace2){const span=openSpan(text,start);while(!extendSpan(text,span))yield;return{value:shallowValue(text,span),data:undefined,end:span.end}}const value=noMembers();let data;let pausedAt=start;const walk=new ObjectWalk(text,start,path);while(walk.next()){const span=openSpan(text,walk.at);const steps=into?.(walk.name,walk.at);if(steps!==undefined)span.end=yield*steps;else while(!extendSpan(text,span))yield;if(keeps&&walk.position<envelopeMembersMax)value[walk.name]=shallowValue(text,span);if(walk.name==="data")data=span;walk.at=span.end;if(walk.at-pausedAt>=stepUnits){yield;pausedAt=walk.at}}return{value,data,end:walk.at}}var quote2=34,comma2=44,backslash2=92,openBracket2=91,closeBracket2=93,openBrace2=123,closeBrace2=125,openSpan=(text,at)=>{const start=skipSpace(text,at);return{start,end:start,depth:0,level:0}},extendSpan=(text,span,units=stepUnits)=>{const pause=span.end+units;let{end:index,level,depth}=span;do{const code=text.charCodeAt(index);if(code===quote2){index=skipString(text,index)}else if(code===openBrace2||code===openBracket2){level++;if(level>depth)depth=level;index++}else if(code===closeBrace2||code===closeBracket2){level--;index++}else if(level>0){index++}else{index=skipScalar(text,index)}}while(level>0&&index<pause);span.end=index;span.level=level;span.depth=depth;return level===0},valueSpan=(text,at)=>{const span=openSpan(text,at);extendSpan(text,span,Number.POSITIVE_INFINITY);return{start:span.start,end:span.end,depth:span.depth}},skipScalar=(text,at)=>{for(;;){const code=text.charCodeAt(at);if(code<=32||code===comma2||code===closeBrace2||code===closeBracket2||Number.isNaN(code))return at;at++}},memberPath=(path,name)=>{const shown=(name.length>80?`${name.slice(0,80)}\u2026`:name).toWellFormed();return path===""?shown:`${path.slice(-200)}.${shown}`},unquote=(text,start,end)=>{const raw=text.slice(start+1,end-1);return raw.includes("\\")?JSON.parse(text.slice(start,end)):raw},envelopeMembersMax=1000,refuseSecond=(names,name,path)=>{if(names.has(name)){const field=memberPath(path,name);throw new CubbyError2("invalid_request",`${field} appears twice in the body.`,{field,hint:"Send each member once."})}if(names.size<envelopeMembersMax)names.add(name)},inside=(text,at)=>skipSpace(text,skipSpace(text,at)+1),behindValue=(text,end)=>{const index=skipSpace(text,end);return text.charCodeAt(index)===comma2?skipSpace(text,index+1):index},walkObject=(text,at,path,visit)=>{const walk=new ObjectWalk(text,at,path);while(walk.next())walk.at=visit(walk.name,walk.at);return walk.at},walkArray=(text,at,visit)=>{const walk=new ArrayWalk(text,at);while(walk.next())walk.at=visit(walk.position,walk.at);return walk.at},shallowValue=(text,{start,end})=>{switch(text.charCodeAt(start)){case openBrace2:return{};case openBracket2:return[];case quote2:return unquote(text,start,end);default:return JSON.parse(text.slice(start,end))}},noMembers=()=>Object.create(null),pickMembers=(text,names)=>{const picked=noMembers();let at=inside(text,0);while(text.charCodeAt(at)===quote2){const nameEnd=skipString(text,at);const name=oneOf(names,text,at,nameEnd);const span=valueSpan(text,skipSpace(text,nameEnd)+1);if(name!==undefined)picked[name]=shallowValue(text,span);at=behindValue(text,span.end)}return picked},oneOf=(names,text,start,end)=>{for(let i=start+1;i<end;i++){if(text.charCodeAt(i)!==backslash2)continue;const name=unquote(text,start,end);return names.includes(name)?name:undefined}return names.find((name)=>name.length===end-start-2&&text.startsWith(name,start+1))},outlineLevels=3,outlineContainers=8,outline=(text,at=0,level=1)=>{const start=skipSpace(text,at);const code=text.charCodeAt(start);if(code===openBracket2){const elements=[];walkArray(text,start,(_,elementStart)=>{const span=valueSpan(text,elementStart);elements.push(shallowValue(text,span));return span.end});return elements}if(code!==openBrace2)return shallowValue(text,valueSpan(text,start));const members=noMembers();let containers=0;const walk=new ObjectWalk(text,start,undefined);while(walk.next()){const span=valueSpan(text,walk.at);const looksInside=span.depth>0&&level<outlineLevels&&containers++<outlineContainers;members[walk.name]=looksInside?outline(text,walk.at,level+1):shallowValue(text,span);walk.at=span.end}return members},envelopeDepthMax=8,refuseDuplicateMembers=(text)=>{const walk=(at,path,level)=>{const code=text.charCodeAt(at);if(level<envelopeDepthMax&&code===123){return walkObject(text,at,path,(name,start)=>walk(start,memberPath(path,name),level+1))}if(level<envelopeDepthMax&&code===91){return walkArray(text,at,(position,start)=>walk(start,`${path}[${position}]`,level+1))}return valueSpan(text,at).end};walk(skipSpace(text,0),"",0)};var init_json_span=__esm(()=>{init_errors();init_steps();init_json_scan()});var pattern,isName=(name)=>typeof name==="string"&&pattern.test(name)&&!name.startsWith("_"),parseName=(name,field,what=field)=>{if(typeof name!=="string"||!pattern.test(name)){throw new CubbyError2("invalid_name",`${what} is ${describeValue(name)}; a name matches [a-z0-9_-]{1,64}.`,{field,hint:'Use 1 to 64 lower-case letters, digits, "_" or "-".'})}if(name.charCodeAt(0)===95){throw new CubbyError2("reserved_name",`${what} is "${name}"; names that start with "_" are reserved.`,{field,hint:`Drop the leading "_": "${name.replace(/^_+/,"")||"name"}".`})}return name};var init_names=__esm(()=>{init_errors();pattern=/^[a-z0-9_-]{1,64}$/});var pattern2,daysInMonth=(year,month)=>{if(month===2)return year%4===0&&(year%100!==0||year%400===0)?29:28;return month===4||month===6||month===9||month===11?30:31},parseIsoDateTime=(text)=>{if(text.length<20||text.length>35||text.charCodeAt(10)!==84)return;const match=pattern2.exec(text);if(match===null)return;const year=Number(match[1]);const month=Number(match[2]);const day=Number(match[3]);const hour=Number(match[4]);const minute=Number(match[5]);const second=Number(match[6]);if(month<1||month>12||day<1||day>daysInMonth(year,month))return;if(hour>23||minute>59||second>59)return;const offsetHour=Number(match[9]??0);const offsetMinute=Number(match[10]??0);if(offsetHour>23||offsetMinute>59)return;const milliseconds=match[7]===undefined?0:Number(match[7].padEnd(3,"0").slice(0,3));const offsetMs=(offsetHour*60+offsetMinute)*60000*(match[8]==="-"?-1:1);const date=new Date(0);date.setUTCFullYear(year,month-1,day);date.setUTCHours(hour,minute,second,milliseconds);return date.getTime()-offsetMs};var init_iso_date_time=__esm(()=>{pattern2=/^(\d{4})-(\d\d)-(\d\d)T(\d\d):(\d\d):(\d\d)(?:\.(\d{1,9}))?(?:Z|([+-])(\d\d):(\d\d))$/});var typeSpan=(encoded)=>{const tag=encoded.charCodeAt(0);return{low:String.fromCharCode(tag),high:String.fromCharCode(tag+1)}},view,hex,encodeNumber=(value)=>{view.setFloat64(0,value+0);let high=view.getUint32(0);let low=view.getUint32(4);if(high>>>31===1){high=~high>>>0;low=~low>>>0}else{high=(high|2147483648)>>>0}return`n${hex[high>>>16]}${hex[high&65535]}${hex[low>>>16]}${hex[low&65535]}`},coerceIndexValue=(value)=>typeof value==="string"?parseIsoDateTime(value)??value:value,encodeIndexValue=(value)=>{const coerced=coerceIndexValue(value);if(typeof coerced==="number")return encodeNumber(coerced);if(typeof coerced==="boolean")return coerced?"b1":"b0";return`s${coerced}`},indexValueFault=(value)=>{switch(typeof value){case"boolean":return;case"number":return Number.isFinite(value)?undefined:"a number that no double can hold";case"string":if(!value.isWellFormed())return"a string with a lone surrogate";if(value.length*3>indexStringBytesMax&&Buffer.byteLength(value)>indexStringBytesMax){return`a string of ${Buffer.byteLength(value)} bytes, more than the limit of ${indexStringBytesMax}`}return;default:if(value===null)return"null";return Array.isArray(value)?"an array":value===undefined?"missing":"an object"}};var init_index_value=__esm(()=>{init_limits();init_iso_date_time();view=new DataView(new ArrayBuffer(8));hex=Array.from({length:65536},(_,i)=>i.toString(16).padStart(4,"0"))});var fileHashKey="#",fileKey=(name)=>({hashKey:fileHashKey,rangeKey:name}),fileData=({size,contentType,visibility,sha256,blob,metadata})=>{const head=JSON.stringify({size,contentType,visibility,sha256,blob});return`${head.slice(0,-1)},"metadata":${metadata}}`},metadataMember=',"metadata":',readFileContent=(data)=>{const at=data.indexOf(metadataMember);const head=JSON.parse(`${data.slice(0,at)}}`);return{...head,metadata:data.slice(at+metadataMember.length,-1)}},fileSlots,publicHash,blobHash=(blobId)=>`f${blobId}`,nameRange=(name)=>`s${name}`,fileEntries=(name,content,updatedAtMs)=>{const isPublic=content.visibility==="public";return[...isPublic?[publicHash,nameRange(name),publicHash,encodeIndexValue(updatedAtMs)]:[null,null,null,null],...[blobHash(content.blob),"",null,null,null,null]]},entriesOfFile=({rangeKey,data,updatedAtMs})=>fileEntries(rangeKey,readFileContent(data),updatedAtMs);var init_file_record=__esm(()=>{init_index_value();fileSlots={publicByName:"i1",publicByTime:"i2",byBlob:"i3"};publicHash=encodeIndexValue("public")});import{createHash}from"crypto";var prefixes,pattern3,checksumLength=6,checksum=(text)=>{let rest=Bun.hash.crc32(text);let digits="";for(let i=0;i<checksumLength;i++){digits=base62Alphabet[rest%62]+digits;rest=Math.floor(rest/62)}return digits},generateApiKey=(kind)=>{const body=prefixes[kind]+randomBase62(32);return body+checksum(body)},generateKeyId=()=>`key_${randomBase62(20)}`,isWellFormedApiKey=(text)=>pattern3.test(text)&&checksum(text.slice(0,-checksumLength))===text.slice(-checksumLength),hashApiKey=(text)=>createHash("sha256").update(text).digest("hex"),maskApiKey=(kind,lastFour)=>`${prefixes[kind]}****${lastFour}`,makeApiKey=(request)=>{const text=generateApiKey(request.kind);return{text,kept:{id:generateKeyId(),kind:request.kind,name:request.name??null,hash:hashApiKey(text),lastFour:text.slice(-4),databases:request.databases??null,expiresAtMs:request.expiresAtMs??null}}},refuse2=(field,message,hint)=>{throw new CubbyError2("invalid_request",`${field} ${message}`,{field,hint})},parseKeyKind=(value)=>value==="secret"||value==="public"?value:refuse2("kind",`is ${describeValue(value)}; it takes "secret" or "public".`,"A public key reads, a secret key reads and writes."),parseKeyName=(value)=>{if(value===undefined||value===null)return null;if(typeof value!=="string")return refuse2("name",`is ${describeValue(value)}; it takes a string.`);const characters=[...value].length;if(characters<1||characters>keyNameCharactersMax||!value.isWellFormed()){return refuse2("name",`takes 1 to ${keyNameCharactersMax} well-formed characters.`)}return value},parseExpiresAt=(value,nowMs)=>{if(value===undefined||value===null)return null;if(!Number.isSafeInteger(value)){return refuse2("expiresAt",`is ${describeValue(value)}; it takes epoch milliseconds, an integer.`)}if(value<=nowMs){const seconds=value<nowMs/100&&value*1000>nowMs;return refuse2("expiresAt","is in the past; it takes a time in the future.",seconds?"It looks like seconds; give milliseconds.":undefined)}return value},parseKeyDatabases=(value)=>{if(value===undefined||value===null)return null;if(!Array.isArray(value)||value.length<1||value.length>keyDatabasesMax){return refuse2("databases",`is ${Array.isArray(value)?`an array of ${value.length}`:describeValue(value)}; it takes 1 to ${keyDatabasesMax} names.`,"Leave databases out to allow all of them.")}return[...new Set(value.map((name,i)=>parseName(name,`databases[${i}]`)))]};var init_api_key=__esm(()=>{init_errors();init_limits();init_names();init_base62();prefixes={secret:"svc_live_",public:"svc_pub_"};pattern3=/^svc_(?:live|pub)_[0-9A-Za-z]{38}$/});import{createCipheriv,createDecipheriv,createHmac,createSecretKey,timingSafeEqual as timingSafeEqual2}from"crypto";var cursorKeyBytes=32,tagBytes=16,CursorSeal,deriveUrlKey=({secret})=>createHmac("sha256",secret).update("file urls").digest();var init_cursor_seal=__esm(()=>{CursorSeal=class CursorSeal{static overheadBytes=tagBytes;acceptsPlain;#cipherKey;#hmac;constructor({secret,acceptsPlain}){if(secret.length!==cursorKeyBytes)throw new Error(`a cursor key has ${cursorKeyBytes} bytes, not ${secret.length}`);const derive=(use)=>createHmac("sha256",secret).update(use).digest();this.acceptsPlain=acceptsPlain;this.#cipherKey=createSecretKey(derive("cursor cipher"));this.#hmac=new Bun.CryptoHasher("sha256",derive("cursor tag"))}seal(text){const tag=this.#tagOf(text);return Buffer.concat([tag,createCipheriv("aes-256-ctr",this.#cipherKey,tag).update(text)])}open(sealed){if(sealed.length<tagBytes)return;const tag=sealed.subarray(0,tagBytes);const text=createDecipheriv("aes-256-ctr",this.#cipherKey,tag).update(sealed.subarray(tagBytes));return timingSafeEqual2(tag,this.#tagOf(text))?text:undefined}#tagOf(text){return this.#hmac.copy().update(text).digest().subarray(0,tagBytes)}}});var slots,refuse4=(field,message,hint)=>{throw new CubbyError2("invalid_index",`${field} ${message}`,{field,hint})},parseFieldName=(value,field)=>{if(typeof value!=="string")return refuse4(field,`is ${describeValue(value)}; it takes the name of a field in data.`);const characters=value.length>indexFieldCharactersMax?[...value].length:value.length;if(characters<1||characters>indexFieldCharactersMax){return refuse4(field,`has ${characters} characters; it takes 1 to ${indexFieldCharactersMax}.`)}return value},parseIndices=(value)=>{if(value===undefined)return{};if(typeof value!=="object"||value===null||Array.isArray(value)){return refuse4("indices",`is ${describeValue(value)}; it takes an object keyed by slot, i1 to i5.`)}const declared=value;for(const name in declared){if(!slots.includes(name)){refuse4(`indices.${name.slice(0,80).toWellFormed()}`,"is not a slot.","Slots are i1, i2, i3, i4 and i5.")}}const indices={};for(const slot of slots){if(!Object.hasOwn(declared,slot))continue;const field=`indices.${slot}`;const declaration=declared[slot];if(typeof declaration!=="object"||declaration===null||Array.isArray(declaration)){refuse4(field,`is ${describeValue(declaration)}; it takes { "hashField": \u2026, "rangeField"?: \u2026 }.`)}const members=declaration;for(const name in members){if(name==="hashField"||name==="rangeField")continue;refuse4(`${field}.${name.slice(0,80).toWellFormed()}`,"is not a field of an index.","Known fields: hashField, rangeField.")}const hashField=parseFieldName(members.hashField,`${field}.hashField`);indices[slot]=members.rangeField===undefined?{hashField}:{hashField,rangeField:parseFieldName(members.rangeField,`${field}.rangeField`)}}return indices},encodeField=(data,name,slot)=>{if(!Object.hasOwn(data,name))return;const value=data[name];const fault=indexValueFault(value);if(fault!==undefined){const field=`data.${name.toWellFormed()}`;throw new CubbyError2("invalid_index_value",`${field} is ${fault}; index ${slot} takes a string, number or boolean.`,{field,hint:`Store it under another field, or leave ${field} out: the index is sparse.`})}return encodeIndexValue(value)},noEntries,indexEntries=(indices,data)=>{const entries=noEntries.slice();for(let i=0;i<slots.length;i++){const slot=slots[i];const declaration=indices[slot];if(declaration===undefined)continue;const hash=encodeField(data,declaration.hashField,slot);const range=declaration.rangeField===undefined?"":encodeField(data,declaration.rangeField,slot);if(hash===undefined||range===undefined)continue;entries[2*i]=hash;entries[2*i+1]=range}return entries},readIndexEntries=(indices,{data,built})=>{if(built!==undefined)return indexEntries(indices,built);const names=[];for(const slot of slots){const declaration=indices[slot];if(declaration===undefined)continue;names.push(declaration.hashField);if(declaration.rangeField!==undefined)names.push(declaration.rangeField)}if(names.length===0)return noEntries.slice();return indexEntries(indices,isCheapToBuild(data)?JSON.parse(data):pickMembers(data,names))};var init_indices=__esm(()=>{init_errors();init_limits();init_json_scan();init_json_span();init_index_value();slots=["i1","i2","i3","i4","i5"];noEntries=[null,null,null,null,null,null,null,null,null,null]});var noRangeKey="#",encoder,utf8Bytes=(text)=>encoder.encode(text),parseKeyPart=(value,field)=>{if(typeof value!=="string"){throw new CubbyError2("invalid_key",`${field} is ${describeValue(value)}; it takes a string.`,{field,hint:`Give ${field} as a string of 1 to ${keyBytesMax} bytes.`})}if(value.length===0){throw new CubbyError2("invalid_key",`${field} is empty; it takes 1 to ${keyBytesMax} bytes of UTF-8.`,{field,hint:field.endsWith("rangeKey")?"Leave rangeKey out for a record without one.":undefined})}if(!value.isWellFormed()){throw new CubbyError2("invalid_key",`${field} has a lone surrogate; it takes well-formed Unicode.`,{field})}if(value.length*3>keyBytesMax){const bytes=Buffer.byteLength(value);if(bytes>keyBytesMax){throw new CubbyError2("invalid_key",`${field} has ${bytes} bytes; it takes at most ${keyBytesMax}.`,{field,hint:"Shorten the key, or use a hash of it and keep the long form in data."})}}if(value==="."||value===".."){throw new CubbyError2("invalid_key",`${field} is "${value}", which URL parsers drop from paths.`,{field,hint:'Use another key; only "." and ".." are not allowed.'})}return value},parseRecordKey=(hashKey,rangeKey,prefix="")=>({hashKey:parseKeyPart(hashKey,`${prefix}hashKey`),rangeKey:rangeKey===undefined?noRangeKey:parseKeyPart(rangeKey,`${prefix}rangeKey`)});var init_record_key=__esm(()=>{init_errors();init_limits();encoder=new TextEncoder});var isEmptyScan=(scan)=>scan.index==="t"?scan.low>=scan.high:Buffer.compare(scan.low,scan.high)>=0,moveBound=(scan,bound,id,order)=>{if(scan.descending){return order<0||order===0&&id<scan.highId?{...scan,high:bound,highId:id}:scan}return order>0||order===0&&id>scan.lowId?{...scan,low:bound,lowId:id}:scan},resumeScan=(scan,position)=>{if(scan.index==="t"){const range=position.range;return moveBound(scan,range,position.id,range-(scan.descending?scan.high:scan.low))}const range=position.range;const bound=utf8Bytes(scan.index==="primary"&&!scan.descending?`${range}\x00`:range);const id=scan.index==="primary"?0:position.id;return moveBound(scan,bound,id,Buffer.compare(bound,scan.descending?scan.high:scan.low))};var init_scan=__esm(()=>{init_record_key()});var isExpired=(ttlSeconds,nowMs)=>ttlSeconds!==null&&ttlSeconds*1000<=nowMs,nowSeconds=(nowMs)=>Math.floor(nowMs/1000);import{randomBytes as randomBytes2}from"crypto";var newBlobId=(nowMs)=>nowMs.toString(16).padStart(12,"0")+randomBytes2(10).toString("hex"),isBlobId=(text)=>/^[0-9a-f]{32}$/.test(text),blobDirectories=(id)=>[id.slice(0,5),id.slice(5,7)],blobPath=(id)=>[...blobDirectories(id),id].join("/");var init_blob_id=()=>{};class PageMeter{#records;#withData;#atMost=1;#bytes=1;#counted=0;constructor(records,withData=true){this.#records=records;this.#withData=withData}takes(record){this.#atMost+=this.#withData?bytesAtMost(record):headBytesAtMost(record);if(this.#atMost<=pageBytesMax)return true;this.#count();this.#bytes+=this.#bytesOf(record)+1;this.#counted++;return this.#bytes<=pageBytesMax||this.#records.length===0}bytesLeft(){this.#count();return pageBytesMax-this.#bytes}#count(){for(;this.#counted<this.#records.length;this.#counted++)this.#bytes+=this.#bytesOf(this.#records[this.#counted])+1}#bytesOf(record){return this.#withData?bytesOf(record):Buffer.byteLength(headJson(record))}}var needsNoEscape,quote3=(text)=>needsNoEscape.test(text)?`"${text}"`:JSON.stringify(text),recordJson=(record,version=String(record.updatedAtMs))=>{const{hashKey,rangeKey,data,ttlSeconds}=record;const range=rangeKey===noRangeKey?"":`,"rangeKey":${quote3(rangeKey)}`;const ttl=ttlSeconds===null?"":`,"ttl":${ttlSeconds}`;return`{"hashKey":${quote3(hashKey)}${range},"data":${data}${ttl},"updatedAt":${version}}`},headJson=({hashKey,rangeKey,ttlSeconds,updatedAtMs})=>{const range=rangeKey===noRangeKey?"":`,"rangeKey":${quote3(rangeKey)}`;const ttl=ttlSeconds===null?"":`,"ttl":${ttlSeconds}`;return`{"hashKey":${quote3(hashKey)}${range}${ttl},"updatedAt":${updatedAtMs}}`},frameJson=(items,count,cursor)=>`{"items":[${items}],"count":${count},"cursor":${JSON.stringify(cursor)}}`,pageJson=(records,cursor)=>{let items="";for(let i=0;i<records.length;i++)items+=`${i===0?"":","}${recordJson(records[i])}`;return frameJson(items,records.length,cursor)},keysPageJson=(records,cursor)=>frameJson(records.map(headJson).join(","),records.length,cursor),countPageJson=(count,cursor)=>frameJson("",count,cursor),bytesOf=(record)=>Buffer.byteLength(recordJson({...record,data:""}))+Buffer.byteLength(record.data),longestFrame='{"hashKey":"","rangeKey":"","data":,"ttl":253402300799,"updatedAt":9007199254740991},',bytesAtMost=({hashKey,rangeKey,data})=>longestFrame.length+6*(hashKey.length+rangeKey.length)+3*data.length,headBytesAtMost=({hashKey,rangeKey})=>longestFrame.length+6*(hashKey.length+rangeKey.length),recordFrameBytesMin,headFrameBytesMin;var init_record_json=__esm(()=>{init_limits();init_record_key();needsNoEscape=/^[ !#-[\]-~]*$/;recordFrameBytesMin='{"hashKey":"","data":,"updatedAt":0},'.length-1;headFrameBytesMin='{"hashKey":"","updatedAt":0},'.length-1});class FoundRecords{entries=[];#records=[];#meter=new PageMeter(this.#records);add(record){if(record!==undefined){if(!this.#meter.takes(record))return false;this.#records.push(record)}this.entries.push(record);return true}}var shownKey=({hashKey,rangeKey})=>rangeKey===noRangeKey?{hashKey}:{hashKey,rangeKey},findJson=(keys,entries)=>{let items="";for(const record of entries)if(record!==undefined)items+=`${items===""?"":","}${recordJson(record)}`;const missing=keys.slice(0,entries.length).filter((_,i)=>entries[i]===undefined);const unread=keys.slice(entries.length);const show=(some)=>JSON.stringify(some.map(shownKey));return`{"items":[${items}],"missing":${show(missing)},"unread":${show(unread)}}`};var init_find=__esm(()=>{init_limits();init_record_json();init_record_key();if(longestFrame.length+6*2*keyBytesMax+dataBytesMax+1>pageBytesMax){throw new Error("a record may be too large for every answer")}});class Shares{#max;#orgs=new Map;#spare;#used=0;constructor(max){this.#max=max}get used(){return this.#used}hasRoom(orgId,keySeq,amount){const org=this.#orgs.get(orgId);if(org===undefined)return this.#used+amount<=this.#max*2;const heldByKey=org.byKey.get(keySeq)??0;const orgMax=(this.#max-(this.#used-org.held))/2;return heldByKey+amount<=orgMax-org.held||heldByKey===0&&this.#admitsKey(org,amount)}tryTake(orgId,keySeq,amount){if(!this.hasRoom(orgId,keySeq,amount))return false;this.take(orgId,keySeq,amount);return true}take(orgId,keySeq,amount){if(amount===0)return;const org=this.#orgs.get(orgId);this.#used+=amount;if(org===undefined){this.#orgs.set(orgId,this.#newOrg(keySeq,amount));return}org.held+=amount;org.byKey.set(keySeq,(org.byKey.get(keySeq)??0)+amount)}give(orgId,keySeq,amount){if(amount===0)return;const org=this.#orgs.get(orgId);const left=(org?.byKey.get(keySeq)??0)-amount;if(org===undefined||left<0)throw new Error("more was given back than taken");this.#used-=amount;org.held-=amount;if(left>0){org.byKey.set(keySeq,left);return}org.byKey.delete(keySeq);if(org.byKey.size>0)return;this.#orgs.delete(orgId);this.#spare=org}#admitsKey(org,amount){return org.held+amount<=this.#max*0.75&&this.#used+amount<=this.#max*1.5}#newOrg(keySeq,amount){const org=this.#spare??{held:0,byKey:new Map};this.#spare=undefined;org.held=amount;org.byKey.set(keySeq,amount);return org}}var OperatorError;var init_operator_error=__esm(()=>{OperatorError=class OperatorError extends Error{name="OperatorError"}});var BlobMissing,PlaceRefused,PlaceUrlRefused;var init_blob_place=__esm(()=>{init_operator_error();BlobMissing=class BlobMissing extends Error{constructor(id,place){super(`the bytes of blob ${id} are not in ${place}`)}};PlaceRefused=class PlaceRefused extends OperatorError{name="PlaceRefused"};PlaceUrlRefused=class PlaceUrlRefused extends PlaceRefused{}});var package_default={name:"cubbydb",version:"0.1.0",description:"A schemaless document store: JSON records in tables, one command to start.",keywords:["cubby","cubbydb","document-store","database","json","schemaless","http","sqlite","postgresql"],license:"Apache-2.0",type:"module",engines:{node:">=20"},bin:{cubby:"bin/cubby",cubbydb:"bin/cubby"},files:["bin","dist"],scripts:{build:"bun build.ts",prepack:"bun build.ts"},dependencies:{bun:"1.4.4","csv-parse":"7.0.3",pg:"8.23.1"},devDependencies:{"@cubbydb/client":"0.1.0"}};var errorCodes=["invalid_json","invalid_request","invalid_name","reserved_name","invalid_key","invalid_index","invalid_index_value","index_not_declared","invalid_range","invalid_cursor","invalid_ttl","batch_too_large","batch_duplicate_keys","digest_mismatch","missing_api_key","invalid_api_key","expired_api_key","revoked_api_key","read_only_key","key_scope","secret_key_in_browser","private_file","invalid_signature","expired_url","route_not_found","table_not_found","record_not_found","key_not_found","bucket_not_found","file_not_found","method_not_allowed","table_exists","bucket_exists","precondition_failed","record_too_large","body_too_large","file_too_large","unsupported_media_type","range_not_satisfiable","internal","store_damaged","outcome_unknown","unavailable","storage_full"];var andThen=(value,use)=>value instanceof Promise?value.then(use):use(value);init_errors();init_bucket_id();init_errors();init_limits();var typeByExtension={png:"image/png",jpg:"image/jpeg",jpeg:"image/jpeg",gif:"image/gif",webp:"image/webp",avif:"image/avif",svg:"image/svg+xml",ico:"image/x-icon",bmp:"image/bmp",pdf:"application/pdf",txt:"text/plain",md:"text/markdown",csv:"text/csv",json:"application/json",html:"text/html",css:"text/css",js:"text/javascript",mp4:"video/mp4",webm:"video/webm",mp3:"audio/mpeg",wav:"audio/wav",ogg:"audio/ogg",zip:"application/zip",gz:"application/gzip",woff2:"font/woff2"};var typeOfName=(name)=>{const extension=/\.([A-Za-z0-9]+)$/.exec(name)?.[1]?.toLowerCase()??"";return Object.hasOwn(typeByExtension,extension)&&typeByExtension[extension]||"application/octet-stream"};var token="[!#$%&'*+.^_`|~0-9A-Za-z-]+";var quoted='"([\\t !#-[\\]-~]|\\\\[\\t -~])*"';var contentTypePattern=`^${token}/${token}([\\t ]*;([\\t ]*${token}=(${token}|${quoted}))?)*$`;var mediaType=new RegExp(contentTypePattern);var parseContentType=(value,field="contentType")=>{const hint="Give one media type, such as image/png or text/plain; charset=utf-8.";const refuse=(message)=>{throw new CubbyError2("invalid_request",`${field} ${message}`,{field,hint})};if(typeof value!=="string")return refuse(`is ${describeValue(value)}; it takes a media type.`);if(value.length>contentTypeCharactersMax){return refuse(`has ${value.length} characters; it takes at most ${contentTypeCharactersMax}.`)}if(value.includes(","))return refuse("has a comma; it takes one media type, and no comma in its parameters.");if(!mediaType.test(value))return refuse(`is ${describeValue(value)}, which is not a media type.`);return value};var essenceOf=(type)=>type.split(";",1)[0].trim().toLowerCase();var normalized=(type)=>type.toLowerCase().replace(/[\t ]*;[\t ]*/g,";").replace(/;+$/,"");var isSameType=(a,b)=>normalized(a)===normalized(b);var saysType=(header)=>header!==null&&essenceOf(header)!=="application/x-www-form-urlencoded";var typeOfUpload=(header,name)=>{if(!saysType(header))return typeOfName(name);if(essenceOf(header)==="multipart/form-data"){throw new CubbyError2("unsupported_media_type","The body is a form; a file is sent as its bytes alone.",{field:"Content-Type",hint:"Send the bytes as the body (curl --data-binary @FILE, not -F), with the type of the file."})}return parseContentType(header,"Content-Type")};init_errors();init_limits();init_json_scan();init_json_span();var visibilities=["private","public"];var parseVisibility=(value)=>{if(value===undefined)return"private";if(visibilities.includes(value))return value;throw new CubbyError2("invalid_request",`visibility is ${describeValue(value)}; it takes "private" or "public".`,{field:"visibility",hint:"Leave it out for a private file."})};var noMetadata="{}";var refuseMetadata=(message,hint)=>{throw new CubbyError2("invalid_request",`metadata ${message}`,{field:"metadata",hint})};var parseMetadata=(text)=>{if(text===undefined)return noMetadata;try{checkJson(text,"metadata")}catch(error){if(!(error instanceof CubbyError2))throw error;return refuseMetadata("is not valid JSON.",'Give a JSON object, such as {"owner":"ada"}, percent-encoded once.')}const start=skipSpace(text,0);if(text[start]!=="{")return refuseMetadata("is not a JSON object.",'Wrap it: {"value": \u2026}.');const bytes=Buffer.byteLength(text);if(bytes>fileMetadataBytesMax){return refuseMetadata(`has ${bytes} bytes of JSON; it takes at most ${fileMetadataBytesMax}.`,"Keep larger values in a record of a table.")}const{depth}=valueSpan(text,start);if(depth>dataDepthMax){return refuseMetadata(`is ${depth} levels deep; it takes at most ${dataDepthMax}.`,"Flatten it.")}return text};var parseMetadataMember=(body,value)=>{if(value===undefined)return noMetadata;if(typeof value!=="object"||value===null||Array.isArray(value)){return refuseMetadata(`is ${describeValue(value)}; it takes a JSON object.`,"Give {} for none.")}let text;walkObject(body,0,"",(name,start)=>{const span=valueSpan(body,start);if(name==="metadata")text=body.slice(span.start,span.end);return span.end});return parseMetadata(text)};var fileTooLarge=(bytesMax=fileBytesMax)=>new CubbyError2("file_too_large",`The file is larger than ${bytesMax} bytes.`,{hint:bytesMax===fileBytesMax?"Split it into several files.":"Whoever made this URL allows at most that."});import{timingSafeEqual}from"crypto";var encodeFileName=(name)=>name.split("/").map(encodeURIComponent).join("/");var filePath=(bucketId,name)=>`/files/${bucketId}/${encodeFileName(name)}`;var fileUrl=(base,bucketId,name,query)=>{const url=base+filePath(bucketId,name);return query===undefined||query===""?url:`${url}?${query}`};var expires="expires";var key="key";var signature="signature";var compare=(a,b)=>a<b?-1:a>b?1:0;var signedText=({method,bucketId,name},parameters)=>{const sorted=[...parameters].sort(([a,x],[b,y])=>compare(a,b)||compare(x,y));return JSON.stringify(["1",method,bucketId,name,...sorted])};var hmacs=new WeakMap;var hmacOf=(urlKey)=>{let hmac=hmacs.get(urlKey);if(hmac===undefined){hmac=new Bun.CryptoHasher("sha256",urlKey);hmacs.set(urlKey,hmac)}return hmac.copy()};var sign=(urlKey,target,parameters)=>hmacOf(urlKey).update(signedText(target,parameters)).digest("base64url");var encodeParameter=(value)=>plain.test(value)?value:encodeURIComponent(value).replace(/[!'()*~]/g,(found)=>`%${found.charCodeAt(0).toString(16).toUpperCase()}`);var plain=/^[A-Za-z0-9_.-]*$/;var queryOf=(parameters)=>parameters.map(([name,value])=>`${encodeParameter(name)}=${encodeParameter(value)}`).join("&");var signedFileUrl=(urlKey,base,target,{keyId,expiresAtMs,options})=>{const parameters=[...options,[expires,String(expiresAtMs)],[key,keyId]];const text=sign(urlKey,target,parameters);return fileUrl(base,target.bucketId,target.name,queryOf([...parameters,[signature,text]]))};var isSigned=(parameters)=>parameters.some(([name])=>name===signature);var readSigned=(urlKey,target,parameters)=>{const given=parameters.filter(([name])=>name===signature);const others=parameters.filter(([name])=>name!==signature);const text=Buffer.from(sign(urlKey,target,others));const found=Buffer.from(given.length===1?given[0][1]:"");if(found.length!==text.length||!timingSafeEqual(found,text))return;const options=new Map(others);const[keyId,expiresAtMs]=[options.get(key),Number(options.get(expires))];options.delete(key);options.delete(expires);return{keyId,expiresAtMs,options}};init_limits();init_errors();init_errors();init_names();var defaultDatabase="default";var divideCollection=(collection)=>{const dot=collection.indexOf(".");if(dot<0)return{db:defaultDatabase,table:collection};return{db:collection.slice(0,dot),table:collection.slice(dot+1)}};var parseCollection=(collection)=>{const isText=typeof collection==="string";if(!isText||collection.indexOf(".")!==collection.lastIndexOf(".")){throw new CubbyError2("invalid_name",`collection is ${describeValue(collection)}; it takes "db.table", or "table" for the database ${defaultDatabase}.`,{field:"collection",hint:"Names have no dots: give the database, one dot and the table."})}const{db,table}=divideCollection(collection);if(!collection.includes("."))return{db,table:parseName(table,"collection")};return{db:parseName(db,"collection","The database in collection"),table:parseName(table,"collection","The table in collection")}};var authorize=(apiKey,keyNeeded,db)=>{if(keyNeeded==="operator")throw new Error("an adapter offered an operation of operators to an API key");if(apiKey.kind==="public"&&keyNeeded!=="read"){throw new CubbyError2("read_only_key","A public key reads records, tables and public files; this request needs a secret key.",{hint:"Send it from your server with a secret key (svc_live_\u2026)."})}if(apiKey.databases===null)return;if(keyNeeded==="manage-keys"){throw new CubbyError2("key_scope","A key limited to databases cannot manage keys.",{hint:'Use a secret key without a "databases" limit.'})}if(db!==undefined&&!apiKey.databases.includes(db)){throw new CubbyError2("key_scope","The API key is limited to other databases.",{hint:`It may use: ${apiKey.databases.join(", ")}.`})}};var databaseOf=(input)=>{if(input.db!==undefined)return input.db;return typeof input.collection==="string"?divideCollection(input.collection).db:input.collection};init_errors();init_hint();init_errors();var parseObject=(value,field)=>{if(typeof value==="object"&&value!==null&&!Array.isArray(value))return value;throw new CubbyError2("invalid_request",`${field??"The body"} is ${describeValue(value)}; it takes a JSON object.`,{field})};var refuseUnknownMembers=(members,known,prefix="")=>{for(const name in members){if(known.includes(name))continue;const field=`${prefix}${name.length>80?`${name.slice(0,80)}\u2026`:name}`.toWellFormed();const meant=known.find((candidate)=>candidate.toLowerCase()===name.toLowerCase().replaceAll("_",""));const takes=known.length===0?"It takes none.":`Known fields: ${known.join(", ")}.`;throw new CubbyError2("invalid_request",`${field} is not a field of this request.`,{field,hint:meant===undefined?takes:`Write it as "${meant}".`})}};var parseLimit=(value,absent,most)=>{if(value===undefined)return absent;const isCount=typeof value==="number"&&(Number.isInteger(value)||value===Number.POSITIVE_INFINITY);if(!isCount||value<1){throw new CubbyError2("invalid_request",`limit is ${describeValue(value)}; it takes an integer of at least 1.`,{field:"limit",hint:`Leave limit out for ${absent}, or give 1 to ${most}.`})}return Math.min(value,most)};var parseFlag=(value,field)=>{if(value===undefined||value===false)return false;if(value===true)return true;throw new CubbyError2("invalid_request",`${field} is ${describeValue(value)}; it takes true or false.`,{field})};init_names();init_json_scan();init_json_span();var parsePlainBody=(text)=>{if(isCheapToBuild(text))return parseSmallBody(text);checkJson(text);const members=parseObject(outline(text));refuseDuplicateMembers(text);return members};var parseSmallBody=(text)=>{const members=parseObject(parseJson(text));if(JSON.stringify(members)!==text)refuseDuplicateMembers(text);return members};init_errors();init_hint();init_limits();init_names();var callerOf=(access)=>access.apiKey===undefined?{orgId:access.orgId,apiKey:undefined}:{orgId:access.apiKey.orgId,apiKey:access.apiKey};var parseAddress=(db,table)=>({db:parseName(db,"db"),table:parseName(table,"table")});var parseAddressAlone=(text)=>{const members=parsePlainBody(text);refuseUnknownMembers(members,["db","table"]);return parseAddress(members.db,members.table)};var requireTable=(access,address,nowMs)=>andThen(access.engine.tables.find(access.apiKey.orgId,address.db,address.table),(table)=>table??refuseUnknownTable(access,address,nowMs));var refuseUnknownTable=async(access,address,nowMs)=>{throw await tableNotFound(access,address,nowMs)};var tableNotFound=async(access,address,nowMs)=>{const{db,table}=address;const deleted=await access.engine.tables.findDeleted(access.apiKey.orgId,db,table,nowMs);const calls={create:call("createTable",{db,table}),restore:call("restoreTable",{db,table})};return notFound("table",`table ${table} in database ${db}`,calls,deleted)};var notFound=(kind,what,{create,restore},deleted)=>{const code=`${kind}_not_found`;if(deleted===undefined)return new CubbyError2(code,`There is no ${what}.`,{hint:["Create it: ",create]});const until=new Date(deleted.deletedAtMs+recoveryMs).toISOString();return new CubbyError2(code,`The ${what} was deleted.`,{hint:[`Restore it until ${until}: `,restore,`; or create a new, empty ${kind}: `,create]})};var writeRecords=async(access,address,table,operations,nowMs)=>{try{return await access.engine.records.write(callerOf(access),table,operations,nowMs)}catch(error){if(error instanceof CubbyError2&&error.code==="table_not_found")throw await tableNotFound(access,address,nowMs);throw error}};var parseBucketAddress=(db,bucket)=>({db:parseName(db,"db"),bucket:parseName(bucket,"bucket")});var parseBucketAddressAlone=(text)=>{const members=parsePlainBody(text);refuseUnknownMembers(members,["db","bucket"]);return parseBucketAddress(members.db,members.bucket)};var requireBucket=(access,address,nowMs)=>andThen(access.engine.buckets.find(access.apiKey.orgId,address.db,address.bucket),(bucket)=>bucket??refuseUnknownBucket(access,address,nowMs));var refuseUnknownBucket=async(access,address,nowMs)=>{throw await bucketNotFound(access,address,nowMs)};var bucketNotFound=async(access,{db,bucket},nowMs)=>{const deleted=await access.engine.buckets.findDeleted(access.apiKey.orgId,db,bucket,nowMs);const calls={create:call("createBucket",{db,bucket}),restore:call("restoreBucket",{db,bucket})};return notFound("bucket",`bucket ${bucket} in database ${db}`,calls,deleted)};var writeInBucket=async(access,address,nowMs,write)=>{try{return await write()}catch(error){if(error instanceof CubbyError2&&error.code==="bucket_not_found")throw await bucketNotFound(access,address,nowMs);throw error}};var requirePlace=({place})=>{if(place!==undefined)return place;throw new CubbyError2("unavailable","This server has no place for the bytes of files.",{hint:"The operator starts it with --files: a directory, or s3://BUCKET/PREFIX."})};init_errors();init_errors();init_limits();var refuse=(field,message,hint)=>{throw new CubbyError2("invalid_key",`${field} ${message}`,{field,hint})};var controlCharacter=/[\u0000-\u001f\u007f-\u009f]/;var parseFileName=(value,field="name")=>{if(typeof value!=="string"){return refuse(field,`is ${describeValue(value)}; it takes a string.`,'Give the name of the file: "cats/tom.png".')}if(value.length===0)return refuse(field,`is empty; it takes 1 to ${fileNameBytesMax} bytes of UTF-8.`);if(!value.isWellFormed())return refuse(field,"has a lone surrogate; it takes well-formed Unicode.");const bytes=Buffer.byteLength(value);if(bytes>fileNameBytesMax){return refuse(field,`has ${bytes} bytes; it takes at most ${fileNameBytesMax}.`,"Shorten the name.")}const control=controlCharacter.exec(value);if(control!==null){const code=control[0].charCodeAt(0).toString(16).toUpperCase().padStart(4,"0");return refuse(field,`has the control character U+${code}.`,"Remove it.")}const segments=value.split("/");if(segments.length>fileNameSegmentsMax){return refuse(field,`has ${segments.length} segments; it takes at most ${fileNameSegmentsMax}.`,'Use fewer "/".')}if(segments.includes("")){return refuse(field,"has an empty segment.",'A name does not begin or end with "/", and has no "//".')}if(segments.includes(".")||segments.includes("..")){return refuse(field,'has a segment "." or "..", which URL parsers drop from paths.',"Use another name.")}return value};init_file_record();init_hint();var parseFileAddress=(db,bucket,name)=>({...parseBucketAddress(db,bucket),name:parseFileName(name)});var fileOf=(bucket,{rangeKey,data,ttlSeconds,updatedAtMs})=>({name:rangeKey,content:readFileContent(data),ttlSeconds,updatedAtMs,bucketId:bucket.publicId});var readFile=({engine,apiKey},bucket,name,nowMs)=>andThen(engine.records.get(bucket,fileKey(name),nowMs,apiKey.seq),(record)=>record===undefined?undefined:fileOf(bucket,record));var findFile=(access,address,nowMs)=>andThen(requireBucket(access,address,nowMs),(bucket)=>andThen(readFile(access,bucket,address.name,nowMs),(file)=>{if(file!==undefined)refusePrivate(access,file);return file}));var requireFile=(access,address,nowMs)=>andThen(findFile(access,address,nowMs),(file)=>{if(file===undefined)throw fileNotFound(address);return file});var refusePrivate=({apiKey},{content})=>{if(apiKey.kind==="secret"||content.visibility==="public")return;throw new CubbyError2("private_file","The file is private; a public key reads public files only.",{hint:"Read it on your server with a secret key (svc_live_\u2026), or give the caller a signed URL."})};var fileNotFound=({db,bucket,name})=>new CubbyError2("file_not_found",`There is no file ${JSON.stringify(name)} in the bucket.`,{hint:["List the files of the bucket: ",call("queryFiles",{db,bucket})]});var fileConditionFailed=({db,bucket,name},condition,current)=>{if(current===undefined){return new CubbyError2("precondition_failed","The file does not exist; nothing was changed.",{hint:"Write without the condition, or with one that holds for an absent file, to create it."})}const message=`The file is at version ${current}; nothing was changed.`;if(condition==="absent"){return new CubbyError2("precondition_failed",message,{hint:"Use another name, or replace the file: write with its version, or without a condition."})}const isOther=typeof condition==="object"&&condition.version<0;return new CubbyError2("precondition_failed",message,{hint:[isOther?"A condition takes the version of the record, not the tag of the bytes. ":"Write with that version, ",isOther?"Read the record: ":"after you have read the record again: ",call("getFile",{db,bucket,name})]})};var holds=(condition,current)=>{if(condition===undefined)return true;if(condition==="absent")return current===undefined;return current!==undefined&&(condition==="exists"||condition.version===current)};init_api_key();init_errors();init_hint();init_limits();init_errors();init_names();init_cursor_seal();init_errors();init_limits();import{createHash as createHash2}from"crypto";var sealedVersion=2;var versionByte=Buffer.of(sealedVersion);var plainVersion=1;var plainFirstByte=91;var numberCharactersMax=String(Number.MIN_SAFE_INTEGER).length;var refuse3=(reason)=>{throw new CubbyError2("invalid_cursor",`cursor ${reason}`,{field:"cursor",hint:"Send the cursor of the previous answer with an otherwise identical request, or leave it out for the first page."})};var encode=(seal,parts)=>{const text=JSON.stringify(parts);let spaces=0;for(const part of parts)if(typeof part==="number")spaces+=numberCharactersMax-String(part).length;const bytes=1+CursorSeal.overheadBytes+Buffer.byteLength(text)+spaces;spaces+=(3-bytes%3)%3;const sealed=seal.seal(Buffer.from(text+" ".repeat(spaces)));return Buffer.concat([versionByte,sealed]).toString("base64url")};var decode=(seal,cursor)=>{if(typeof cursor!=="string")return refuse3(`is ${describeValue(cursor)}; it takes a string or null.`);if(cursor.length>cursorCharactersMax||!/^[A-Za-z0-9_-]+$/.test(cursor))return refuse3("cannot be read.");const bytes=Buffer.from(cursor,"base64url");const parts=bytes[0]===sealedVersion?readSealed(seal,cursor,bytes):readPlain(seal,bytes);return parts??refuse3("cannot be read.")};var readSealed=(seal,cursor,bytes)=>{if(cursor.length%4!==0)return;const text=seal.open(bytes.subarray(1));return text===undefined?undefined:JSON.parse(text.toString())};var readPlain=(seal,bytes)=>{if(!seal.acceptsPlain||bytes[0]!==plainFirstByte)return;try{const parts=JSON.parse(bytes.toString());if(Array.isArray(parts)&&parts[0]===plainVersion)return parts.slice(1)}catch{}return};var scanFingerprint=(tableId,scan)=>{const bound=(value)=>typeof value==="number"?value:Buffer.from(value).toString("hex");const hash=scan.index==="t"?"":scan.hash;return createHash2("sha256").update(JSON.stringify([tableId,scan.index,hash,bound(scan.low),bound(scan.high),scan.descending])).digest("base64url").slice(0,16)};var encodeScanCursor=(seal,tableId,scan,position,fingerprint=scanFingerprint(tableId,scan))=>encode(seal,[fingerprint,position.range,position.id]);var decodeScanCursor=(seal,cursor,tableId,scan,fingerprint=scanFingerprint(tableId,scan))=>{const[found,range,id]=decode(seal,cursor);if(found!==fingerprint){return refuse3("belongs to another query: table, hash, index, range and direction must be those it came with.")}const rangeFits=scan.index==="t"?Number.isSafeInteger(range):typeof range==="string"&&range.isWellFormed();if(!rangeFits||!Number.isSafeInteger(id)||id<0)return refuse3("cannot be read.");return{range,id}};var isName2=(value)=>typeof value==="string"&&/^[a-z0-9_-]{1,64}$/.test(value);var encodeListCursor=(seal,listing,place)=>encode(seal,[listing,...place]);var decodeListCursor=(seal,cursor,listing,types)=>{const[found,...place]=decode(seal,cursor);if(found!==listing)return refuse3("belongs to another listing.");const fits=place.length===types.length&&place.every((part,i)=>types[i]==="number"?Number.isSafeInteger(part):isName2(part));return fits?place:refuse3("cannot be read.")};init_errors();init_limits();init_index_value();init_indices();init_errors();init_index_value();init_record_key();var rangeOperators=["eq","lt","lte","gt","gte","between","beginsWith"];var refuse5=(field,message,hint)=>{throw new CubbyError2("invalid_range",`${field} ${message}`,{field,hint})};var parseOperand=(value,over,field)=>{if(over==="primary"){if(typeof value!=="string")return refuse5(field,`is ${describeValue(value)}; range keys are strings.`)}else if(over==="t"){const instant=typeof value==="string"?coerceIndexValue(value):value;if(typeof instant!=="number"||!Number.isFinite(instant)){return refuse5(field,`is ${describeValue(value)}; t takes epoch milliseconds or an ISO-8601 date-time.`,'Write it as 1767225600000 or "2026-01-01T00:00:00Z".')}return instant}const fault=indexValueFault(value);if(fault!==undefined){return refuse5(field,`is ${fault}; it takes ${over==="primary"?"a string":"a string, number or boolean"}.`)}return over==="primary"?value:coerceIndexValue(value)};var parsePrefix=(value,over,field)=>{if(over==="t")return refuse5(field,"is not allowed for t, which holds numbers.","Use between, gte or lt.");if(typeof value!=="string")return refuse5(field,`is ${describeValue(value)}; beginsWith takes a string.`);const fault=indexValueFault(value);return fault===undefined?value:refuse5(field,`is ${fault}.`)};var compareOperands=(a,b,over)=>over==="primary"?Buffer.compare(utf8Bytes(a),utf8Bytes(b)):Buffer.compare(utf8Bytes(encodeIndexValue(a)),utf8Bytes(encodeIndexValue(b)));var refuseBounds=(field,low,high,over,hint)=>{if(typeof low!==typeof high){refuse5(field,`has a ${typeof low} and a ${typeof high}; both bounds must have the same type.`)}if(compareOperands(low,high,over)>0)refuse5(field,"has its low bound above its high one.",hint)};var operatorsRule="it takes one operator, or one of gt and gte together with one of lt and lte";var isLower=(name)=>name==="gt"||name==="gte";var isUpper=(name)=>name==="lt"||name==="lte";var operatorsHint=(names)=>{if(names.includes("between"))return"between has both bounds already; leave the other operators out.";if(names.length===2&&names.every(isLower))return"Both are lower bounds; leave one of them out.";if(names.length===2&&names.every(isUpper))return"Both are upper bounds; leave one of them out.";return'For example { "gte": 10, "lt": 20 }.'};var parseOperators=(names)=>{const unknown=names.find((name)=>!rangeOperators.includes(name));if(unknown!==undefined){const found=`has the operator "${unknown.slice(0,80).toWellFormed()}"`;return refuse5("range",`${found}; the operators are ${rangeOperators.join(", ")}.`)}if(names.length===1)return names;const[lower,upper]=[names.find(isLower),names.find(isUpper)];if(names.length===2&&lower!==undefined&&upper!==undefined)return[lower,upper];const found=names.length===0?"has no operator":`has ${names.join(" and ")}`;return refuse5("range",`${found}; ${operatorsRule}.`,operatorsHint(names))};var parseRange=(value,over)=>{if(value===undefined)return;if(typeof value!=="object"||value===null||Array.isArray(value)){return refuse5("range",`is ${describeValue(value)}; it takes an object with one or two operators.`,'For example { "gte": 10, "lt": 20 }.')}const operands=value;const[operator,upperOperator]=parseOperators(Object.keys(value));const operand=operands[operator];const field=`range.${operator}`;if(upperOperator!==undefined){const low=parseOperand(operand,over,field);const high=parseOperand(operands[upperOperator],over,`range.${upperOperator}`);refuseBounds("range",low,high,over,`Give ${operator} the lower value.`);return{operator,operand:low,below:{operator:upperOperator,operand:high}}}if(operator==="beginsWith")return{operator,operand:parsePrefix(operand,over,field)};if(operator!=="between")return{operator,operand:parseOperand(operand,over,field)};if(!Array.isArray(operand)||operand.length!==2){return refuse5(field,`is ${describeValue(operand)}; it takes [low, high].`)}const low=parseOperand(operand[0],over,`${field}[0]`);const upper=parseOperand(operand[1],over,`${field}[1]`);refuseBounds(field,low,upper,over,"Put the lower bound first.");return{operator,operand:low,upper}};var prefixEnd=(prefix)=>{for(let i=prefix.length-1;i>=0;i--){if(prefix[i]===255)continue;const end=prefix.slice(0,i+1);end[i]++;return end}return};var aboveAllText=new Uint8Array([255]);var beginsWithBounds=(prefix,high)=>{const low=utf8Bytes(prefix);return{low,high:prefixEnd(low)??high}};var comparisonBounds=(range,encode,all)=>{if(range.below!==undefined){const{below,...above}=range;return{low:comparisonBounds(above,encode,all).low,high:comparisonBounds(below,encode,all).high}}const at=encode(range.operand);switch(range.operator){case"eq":return{low:utf8Bytes(at),high:utf8Bytes(`${at}\x00`)};case"lt":return{low:all.low,high:utf8Bytes(at)};case"lte":return{low:all.low,high:utf8Bytes(`${at}\x00`)};case"gt":return{low:utf8Bytes(`${at}\x00`),high:all.high};case"gte":return{low:utf8Bytes(at),high:all.high};default:return{low:utf8Bytes(at),high:utf8Bytes(`${encode(range.upper)}\x00`)}}};var primaryBounds=(range)=>{const all={low:new Uint8Array(0),high:aboveAllText};if(range===undefined)return all;if(range.operator==="beginsWith")return beginsWithBounds(range.operand,aboveAllText);return comparisonBounds(range,(value)=>value,all)};var indexBounds=(range)=>{if(range===undefined)return{low:new Uint8Array(0),high:aboveAllText};if(range.operator==="beginsWith")return beginsWithBounds(`s${range.operand}`,aboveAllText);const span=typeSpan(encodeIndexValue(range.operand));return comparisonBounds(range,encodeIndexValue,{low:utf8Bytes(span.low),high:utf8Bytes(span.high)})};var timeEnd=Number.MAX_SAFE_INTEGER;var clamp=(value)=>Math.min(Math.max(value,-timeEnd),timeEnd);var timeBounds=(range)=>{if(range===undefined)return{low:-timeEnd,high:timeEnd};if(range.below!==undefined){const{below,...above}=range;return{low:timeBounds(above).low,high:timeBounds(below).high}}const at=range.operand;const from=(value)=>clamp(Math.ceil(value));const after=(value)=>clamp(Math.floor(value)+1);switch(range.operator){case"eq":return{low:from(at),high:after(at)};case"lt":return{low:-timeEnd,high:from(at)};case"lte":return{low:-timeEnd,high:after(at)};case"gt":return{low:after(at),high:timeEnd};case"gte":return{low:from(at),high:timeEnd};default:return{low:from(at),high:after(range.upper)}}};init_record_key();init_scan();var selections=["data","keys","count"];var queryFields=["index","hash","range","select","limit","ascending","cursor"];var parseIndexName=(value)=>{if(value===undefined)return"primary";if(value==="t"||slots.includes(value))return value;throw new CubbyError2("invalid_request",`index is ${describeValue(value)}; it takes "t" or one of "i1" to "i5".`,{field:"index",hint:"Leave index out to query by primary key."})};var parseSelection=(value)=>{if(value===undefined)return"data";if(selections.includes(value))return value;throw new CubbyError2("invalid_request",`select is ${describeValue(value)}; it takes "data", "keys" or "count".`,{field:"select",hint:"Leave select out to get whole records."})};var parseQueryLimit=(value,select)=>select==="count"?parseLimit(value,countRowsMax,countRowsMax):parseLimit(value,pageRowsDefault,pageRowsMax);var parseQuery=(members)=>{refuseUnknownMembers(members,queryFields);const index=parseIndexName(members.index);if(index==="t"&&members.hash!==undefined){throw new CubbyError2("invalid_request","hash is not a field of a query by t, which covers the whole table.",{field:"hash",hint:"Leave hash out, or query by primary key or a declared index."})}if(members.ascending!==undefined&&typeof members.ascending!=="boolean"){throw new CubbyError2("invalid_request",`ascending is ${describeValue(members.ascending)}; it takes true or false.`,{field:"ascending"})}if(index==="primary"&&members.hash===undefined)throw missingHash();if(index==="primary")parseKeyPart(members.hash,"hash");const select=parseSelection(members.select);return{index,hash:members.hash,range:parseRange(members.range,index==="primary"||index==="t"?index:"index"),select,limit:parseQueryLimit(members.limit,select),ascending:members.ascending??index!=="t",cursor:members.cursor??undefined}};var missingHash=()=>new CubbyError2("invalid_key","hash is missing; it takes a string.",{field:"hash",hint:'Give hash, or index: "t" for the newest records of the table.'});var declaredIndexScan=(query,slot,indices)=>{const declaration=indices[slot];if(declaration===undefined){const declared=Object.entries(indices).map(([name,{hashField}])=>`${name} (${hashField})`);throw new CubbyError2("index_not_declared",`The table declares no index ${slot}.`,{field:"index",hint:declared.length===0?"It declares none; indices are declared when a table is created.":`Declared: ${declared.join(", ")}.`})}const fault=indexValueFault(query.hash);if(fault!==undefined){throw new CubbyError2("invalid_index_value",`hash is ${fault}; index ${slot} takes a string, number or boolean.`,{field:"hash",hint:`Give the value of ${declaration.hashField} to look for.`})}if(query.range!==undefined&&declaration.rangeField===undefined){throw new CubbyError2("invalid_range",`range is not allowed: index ${slot} was declared without a rangeField.`,{field:"range",hint:"Leave range out."})}const hash=encodeIndexValue(query.hash);return{index:slot,hash,...indexBounds(query.range),lowId:0,highId:0,descending:!query.ascending}};var wholeScan=(query,indices)=>{const ids={lowId:0,highId:0,descending:!query.ascending};if(query.index==="primary"){return{index:"primary",hash:query.hash,...primaryBounds(query.range),...ids}}if(query.index==="t")return{index:"t",...timeBounds(query.range),...ids};return declaredIndexScan(query,query.index,indices)};var planQuery=(query,tableId,indices,seal)=>{const whole=wholeScan(query,indices);if(query.cursor===undefined)return{whole,page:whole,fingerprint:undefined};const fingerprint=scanFingerprint(tableId,whole);return{whole,page:resumeScan(whole,decodeScanCursor(seal,query.cursor,tableId,whole,fingerprint)),fingerprint}};init_hint();init_limits();var bucketPath="/v1/:db/_buckets/:bucket";var filePath2=`${bucketPath}/:name`;var fileVerbs=["query","restore","url"];var segmentsPath=(prefix,segments)=>`${prefix}/${Array.from({length:segments},(_,i)=>`:name${i+1}`).join("/")}`;var wildcardOf=(prefix)=>`${prefix}/*`;var longNamePaths=(prefix)=>[...Array.from({length:fileNameSegmentsMax-1},(_,i)=>segmentsPath(prefix,i+2)),wildcardOf(prefix)];var longNameParameters=(path)=>{if(path.endsWith("/*"))return(params)=>({...params,name:undefined});const segments=path.match(/:name\d+/g)?.map((name)=>name.slice(1));if(segments===undefined)return;return(params)=>({...params,name:segments.map((segment)=>params[segment]).join("/")})};var hasEmptySegment=(url)=>{const path=url.replace(/^[a-z]+:\/\/[^/]*/i,"").split("?",1)[0];return path.endsWith("/")||path.includes("//")};var withFilePaths=(table)=>{const files=table[filePath2];if(files===undefined)return table;const served={...table};for(const path of longNamePaths(bucketPath))served[path]=files;for(const verb of fileVerbs){const path=`${bucketPath}/${verb}`;served[path]={...files,...table[path]}}return served};init_limits();init_api_key();var defineOperation=(operation)=>operation;init_api_key();var keyStatus=(key,nowMs)=>{if(key.revokedAtMs!==null)return"revoked";return key.expiresAtMs!==null&&key.expiresAtMs<=nowMs?"expired":"active"};var presentApiKey=(key,nowMs)=>({id:key.id,kind:key.kind,name:key.name,masked:maskApiKey(key.kind,key.lastFour),databases:key.databases,status:keyStatus(key,nowMs),createdAt:key.createdAtMs,lastUsedAt:key.lastUsedAtMs,expiresAt:key.expiresAtMs,revokedAt:key.revokedAtMs});var presentOwnApiKey=(own,nowMs)=>({...presentApiKey(own.apiKey,nowMs),organization:own.organization});var presentNewApiKey=(key,text)=>({id:key.id,kind:key.kind,name:key.name,key:text,masked:maskApiKey(key.kind,key.lastFour),databases:key.databases,createdAt:key.createdAtMs,expiresAt:key.expiresAtMs});var parseCreateApiKey=(members,nowMs)=>{refuseUnknownMembers(members,["kind","name","expiresAt","databases"]);return{kind:parseKeyKind(members.kind),name:parseKeyName(members.name),expiresAtMs:parseExpiresAt(members.expiresAt,nowMs),databases:parseKeyDatabases(members.databases)}};var createApiKey=async(access,request,nowMs)=>{const{text,kept}=makeApiKey(request);return{apiKey:await access.engine.apiKeys.create(callerOf(access),kept,nowMs),text}};var createApiKeyOperation=defineOperation({id:"createApiKey",area:"api-keys",summary:"Create an API key",description:"The key is shown only in this answer: the store keeps its hash.",keyNeeded:"manage-keys",effect:"writes",returns:"The new key.",codes:["invalid_name","reserved_name"],parse:(text,nowMs)=>parseCreateApiKey(parsePlainBody(text),nowMs),run:createApiKey,present:({apiKey,text})=>JSON.stringify(presentNewApiKey(apiKey,text))});var describeOwnApiKey=async({engine,apiKey})=>{const{orgId,seq}=apiKey;const[listed]=await engine.apiKeys.list(orgId,seq+1,1);const organization=await engine.organizations.findById(orgId);return{apiKey:listed,organization:organization.name}};var describeOwnApiKeyOperation=defineOperation({id:"describeOwnApiKey",area:"api-keys",summary:"Describe the calling API key",description:"The API key that the request is sent with: its kind, its limits and its organization. Every key may ask, public and limited ones too.",keyNeeded:"read",effect:"reads",returns:"The key, as in the list of keys, and the name of its organization.",codes:[],parse(text){refuseUnknownMembers(parsePlainBody(text),[]);return{}},run:describeOwnApiKey,present:(own,nowMs)=>JSON.stringify(presentOwnApiKey(own,nowMs))});init_errors();init_limits();var parseListing=({limit,cursor})=>{if(cursor!==undefined&&typeof cursor!=="string"){throw new CubbyError2("invalid_cursor",`cursor is ${describeValue(cursor)}; it takes a string.`,{field:"cursor",hint:"Leave it out for the first page."})}return{limit:parseLimit(limit,pageRowsDefault,pageRowsMax),cursor}};var pagesNote='The last page has `"cursor": null`; otherwise send `cursor` back to get the next page.';var listApiKeys=async(access,{limit,cursor})=>{const seal=access.engine.cursorSeal;const before=cursor===undefined?undefined:decodeListCursor(seal,cursor,"keys",["number"])[0];const found=await access.engine.apiKeys.list(callerOf(access).orgId,before,limit+1);const keys=found.slice(0,limit);return{keys,cursor:found.length>limit?encodeListCursor(seal,"keys",[keys.at(-1).seq]):null}};var listApiKeysOperation=defineOperation({id:"listApiKeys",area:"api-keys",summary:"List the API keys of an organization",description:`The API keys of the organization, masked, newest first. ${pagesNote}`,keyNeeded:"manage-keys",effect:"reads",returns:"A page of keys.",codes:["invalid_cursor"],parse(text){const members=parsePlainBody(text);refuseUnknownMembers(members,["limit","cursor"]);return parseListing(members)},run:listApiKeys,present:({keys,cursor},nowMs)=>JSON.stringify({keys:keys.map((key)=>presentApiKey(key,nowMs)),cursor})});init_errors();init_hint();init_record_key();var revokeApiKey=async(access,{id},nowMs)=>{const revoked=await access.engine.apiKeys.revoke(callerOf(access),id,nowMs);if(revoked!==undefined)return revoked;throw new CubbyError2("key_not_found","The organization has no API key with that id.",{hint:["Ids are listed by ",call("listApiKeys"),'; they start with "key_".']})};var revokeApiKeyOperation=defineOperation({id:"revokeApiKey",area:"api-keys",summary:"Revoke an API key permanently",description:"Revocation is permanent. Once the answer is sent, every request with the key fails with `revoked_api_key`. Revoking a key again changes nothing.",keyNeeded:"manage-keys",effect:"destroys",returns:"The revoked key.",codes:["invalid_key","key_not_found"],parse(text){const members=parsePlainBody(text);refuseUnknownMembers(members,["id"]);return{id:parseKeyPart(members.id,"id")}},run:revokeApiKey,present:(key,nowMs)=>JSON.stringify(presentApiKey(key,nowMs))});var apiKeyRoutes={listApiKeys:{operation:listApiKeysOperation,method:"GET",paths:["/api/keys"],query:["limit","cursor"]},createApiKey:{operation:createApiKeyOperation,method:"POST",paths:["/api/keys"],body:{schema:"CreateKeyRequest",required:true,bytesMax:plainBodyBytesMax}},describeOwnApiKey:{operation:describeOwnApiKeyOperation,method:"GET",paths:["/api/keys/self"]},revokeApiKey:{operation:revokeApiKeyOperation,method:"DELETE",paths:["/api/keys/:id"]}};init_limits();init_bucket_id();init_errors();init_hint();init_limits();init_names();var presentLife=({createdAtMs,deletedAtMs})=>deletedAtMs===null?{status:"active",createdAt:createdAtMs}:{status:"deleted",createdAt:createdAtMs,deletedAt:deletedAtMs,recoverableUntil:deletedAtMs+recoveryMs};var parseListOfDatabase=(text)=>{const{db,...members}=parsePlainBody(text);refuseUnknownMembers(members,["limit","cursor","deleted"]);return{db:parseName(db,"db"),deleted:parseFlag(members.deleted,"deleted"),...parseListing(members)}};var listOfDatabase=async(registry,seal,orgId,name,{db,deleted,limit,cursor},nowMs)=>{const listing=`${name}:${db}`;const place=cursor===undefined?undefined:decodeListCursor(seal,cursor,listing,["string","number"]);const after=place&&{name:place[0],deletedAtMs:place[1]};const request={orgId,db,after,limit:limit+1};const found=await(deleted?registry.listDeleted(request,nowMs):registry.list(request));const rows=found.slice(0,limit);const last=rows.at(-1);return{rows,cursor:found.length>limit?encodeListCursor(seal,listing,[last.name,last.deletedAtMs??0]):null}};var parseDeletedAt=(members,kind,listed)=>{refuseUnknownMembers(members,["deletedAt"]);const{deletedAt}=members;if(deletedAt===undefined||Number.isSafeInteger(deletedAt))return deletedAt;throw new CubbyError2("invalid_request",`deletedAt is ${describeValue(deletedAt)}; it takes epoch milliseconds.`,{field:"deletedAt",hint:[`Leave it out for the ${kind} deleted last, or take it from `,call(listed,{deleted:true}),"."]})};var restored=async(result,{kind,name,deletedAtMs,calls,notFound})=>{switch(result.outcome){case"restored":case"active":return result.table;case"taken":throw new CubbyError2(`${kind}_exists`,`An active ${kind} has the name ${name}.`,{hint:["Delete it first (",calls.remove,"), then restore with ",{send:{deletedAt:result.deletedAtMs}},"."]});case"missing":if(deletedAtMs===undefined)throw await notFound();throw new CubbyError2(`${kind}_not_found`,`No recoverable ${kind} ${name} was deleted at ${deletedAtMs}.`,{field:"deletedAt",hint:["See ",calls.list,", or leave deletedAt out for the newest."]})}};var presentBucket=(bucket)=>{const{db,name,publicId}=bucket;return{db,bucket:name,id:publicId,...presentLife(bucket)}};var bucketJson=(bucket)=>JSON.stringify(presentBucket(bucket));var createBucket=(access,{db,bucket},nowMs)=>access.engine.buckets.create(callerOf(access),db,bucket,newBucketId(),nowMs);var createBucketOperation=defineOperation({id:"createBucket",area:"buckets",summary:"Create a bucket for files",description:"A bucket holds files. Its `id` is random and cannot be guessed; the URLs of its files contain it. A bucket may have the same name as a table. If the bucket exists, nothing changes.",keyNeeded:"write",effect:"writes",returns:"The bucket.",codes:[],parse:parseBucketAddressAlone,run:createBucket,present:({table})=>bucketJson(table)});var deleteBucket=async(access,address,nowMs)=>{const bucket=await access.engine.buckets.delete(callerOf(access),address.db,address.bucket,nowMs);if(bucket===undefined)throw await bucketNotFound(access,address,nowMs);return bucket};var deleteBucketOperation=defineOperation({id:"deleteBucket",area:"buckets",summary:"Delete a bucket; it can be restored for 7 days",description:"Once the answer is sent, the bucket can only be restored, its URLs do not work, and its name is free. It can be restored for 7 days, with all its files and URLs; after that the files are removed permanently. A bucket that is created again under the name has another `id`.",keyNeeded:"write",effect:"destroys",returns:"The deleted bucket.",codes:["bucket_not_found"],parse:parseBucketAddressAlone,run:deleteBucket,present:bucketJson});var describeBucket=requireBucket;var describeBucketOperation=defineOperation({id:"describeBucket",area:"buckets",summary:"Show a bucket: its id and when it was created",description:"Returns the id of the bucket and when it was created.",keyNeeded:"read",effect:"reads",returns:"The bucket.",codes:["bucket_not_found"],parse:parseBucketAddressAlone,run:describeBucket,present:bucketJson});var listBuckets=({engine,apiKey},input,nowMs)=>{const name=input.deleted?"deletedBuckets":"buckets";return listOfDatabase(engine.buckets,engine.cursorSeal,apiKey.orgId,name,input,nowMs)};var listBucketsOperation=defineOperation({id:"listBuckets",area:"buckets",summary:"List the buckets of a database",description:`The buckets of a database, by name. For a database without buckets the list is empty. ${pagesNote}`,keyNeeded:"read",effect:"reads",returns:"A page of buckets.",codes:["invalid_cursor"],parse:parseListOfDatabase,run:listBuckets,present:({rows,cursor})=>JSON.stringify({buckets:rows.map(presentBucket),cursor})});init_hint();var parseRestoreBucket=(members)=>parseDeletedAt(members,"bucket","listBuckets");var restoreBucket=async(access,input,nowMs)=>{const{db,bucket,deletedAtMs}=input;return restored(await access.engine.buckets.restore(callerOf(access),db,bucket,deletedAtMs,nowMs),{kind:"bucket",name:bucket,deletedAtMs,calls:{remove:call("deleteBucket",{db,bucket}),list:call("listBuckets",{db,deleted:true})},notFound:()=>bucketNotFound(access,input,nowMs)})};var restoreBucketOperation=defineOperation({id:"restoreBucket",area:"buckets",summary:"Restore a deleted bucket with all its files",description:"Makes a deleted bucket active again, with all its files, its `id` and its URLs: the one deleted last, or another one by its `deletedAt`. If the bucket is active and no bucket with that name is deleted, nothing changes.",keyNeeded:"write",effect:"writes",returns:"The active bucket.",codes:["bucket_not_found","bucket_exists"],parse(text){const{db,bucket,...which}=parsePlainBody(text);return{...parseBucketAddress(db,bucket),deletedAtMs:parseRestoreBucket(which)}},run:restoreBucket,present:bucketJson});var optionalBody=(schema)=>({schema,required:false,bytesMax:plainBodyBytesMax});var bucketRoutes={listBuckets:{operation:listBucketsOperation,method:"GET",paths:["/v1/:db/_buckets"],query:["limit","cursor","deleted"]},describeBucket:{operation:describeBucketOperation,method:"GET",paths:["/v1/:db/_buckets/:bucket"]},createBucket:{operation:createBucketOperation,method:"POST",paths:["/v1/:db/_buckets/:bucket"],body:optionalBody("CreateBucketRequest")},deleteBucket:{operation:deleteBucketOperation,method:"DELETE",paths:["/v1/:db/_buckets/:bucket"]},restoreBucket:{operation:restoreBucketOperation,method:"POST",paths:["/v1/:db/_buckets/:bucket/restore"],body:optionalBody("RestoreBucketRequest")}};init_limits();init_errors();init_errors();init_limits();init_record_key();var putFields=["hashKey","rangeKey","data","ttl"];var parseRecordToPut=(members,text,span,nowMs,prefix="",alsoKnown=[])=>{refuseUnknownMembers(members,[...putFields,...alsoKnown],prefix);const{hashKey,rangeKey}=parseRecordKey(members.hashKey,members.rangeKey,prefix);return{hashKey,rangeKey,data:parseData(members.data,text,span,`${prefix}data`),ttlSeconds:parseTtl(members.ttl,`${prefix}ttl`,nowMs)}};var parseData=(value,text,span,field)=>{if(typeof value!=="object"||value===null||Array.isArray(value)){throw new CubbyError2("invalid_request",`${field} is ${describeValue(value)}; it takes a JSON object.`,{field,hint:value===undefined?'Put the record under "data".':'Wrap it: { "value": \u2026 }.'})}const data=text.slice(span.start,span.end);const bytes=Buffer.byteLength(data);if(bytes>dataBytesMax){throw new CubbyError2("record_too_large",`${field} has ${bytes} bytes of JSON; it takes at most ${dataBytesMax}.`,{field,hint:"Split the record over several range keys."})}if(span.depth>dataDepthMax){throw new CubbyError2("invalid_request",`${field} is ${span.depth} levels deep; it takes at most ${dataDepthMax}.`,{field,hint:"Flatten it, or store the inner part as a string."})}return data};var parseTtl=(value,field,nowMs)=>{if(value===undefined)return null;if(typeof value==="number"&&Number.isInteger(value)&&value>=0&&value<=ttlSecondsMax){if(nowMs!==undefined)refuseLongPast(value,field,nowSeconds(nowMs));return value}const milliseconds=typeof value==="number"&&value>ttlSecondsMax&&value/1000<=ttlSecondsMax;throw new CubbyError2("invalid_ttl",`${field} is ${describeValue(value)}; it takes epoch seconds, an integer from 0 to ${ttlSecondsMax}.`,{field,hint:milliseconds?`It looks like milliseconds; give seconds: ${Math.floor(value/1000)}.`:"Leave ttl out for a record that does not expire."})};var durationSecondsMax=10*365*86400;var refuseLongPast=(ttlSeconds,field,now)=>{if(now-ttlSeconds<=ttlPastSecondsMax)return;const hint=ttlSeconds===0?`Leave ttl out for a record that does not expire; a time is given in epoch seconds, now ${now}.`:ttlSeconds<durationSecondsMax?`${ttlSeconds} looks like a duration; for ${ttlSeconds} seconds from now give ${now+ttlSeconds}.`:`It is ${new Date(ttlSeconds*1000).toISOString()}; a day from now is ${now+86400}.`;throw new CubbyError2("invalid_ttl",`${field} is ${ttlSeconds}, more than a day in the past; it takes the epoch second at which the record expires.`,{field,hint})};init_errors();var refuse6=(value,field,takes)=>{throw new CubbyError2("invalid_request",`${field} is ${describeValue(value)}; it takes ${takes}.`,{field,hint:"Give the updatedAt that the record must have, or null if it must not exist."})};var parseIfUpdatedAt=(value,field)=>{if(value===undefined)return;if(value===null)return"absent";if(Number.isSafeInteger(value))return{version:value};return refuse6(value,field,"an integer or null")};var parseCondition=(value)=>value==="*"?"exists":parseIfUpdatedAt(value,"ifUpdatedAt");var preconditionFailed=(current,field)=>current===undefined?new CubbyError2("precondition_failed","The record does not exist; nothing was changed.",{field,hint:"Write without the condition, or with one that holds for an absent record, to create it."}):new CubbyError2("precondition_failed",`The record is at version ${current}; nothing was changed.`,{field,hint:"Read the record again, apply your change to it, and write with its new version."});var fileJson=({name,content,ttlSeconds,updatedAtMs},url,{urlExpiresAtMs}={})=>{const{size,contentType,visibility,sha256,metadata}=content;const head=JSON.stringify({name,size,contentType,visibility,sha256});const ttl=ttlSeconds===null?"":`,"ttl":${ttlSeconds}`;const expiry=urlExpiresAtMs===undefined?"":`,"urlExpiresAt":${urlExpiresAtMs}`;return`${head.slice(0,-1)},"metadata":${metadata}${ttl},"updatedAt":${updatedAtMs},"url":${JSON.stringify(url)}${expiry}}`};var permanentUrl=({bucketId,name,content},base="")=>content.visibility==="public"?fileUrl(base,bucketId,name):null;var presentFile=(file)=>fileJson(file,permanentUrl(file));var changeFields=["visibility","contentType","metadata","ttl"];var parseChanges=(text,members,nowMs)=>{refuseUnknownMembers(members,changeFields);const{visibility,contentType,metadata,ttl}=members;if(changeFields.every((field)=>members[field]===undefined)){throw new CubbyError2("invalid_request","The change is empty.",{hint:`Give at least one of ${changeFields.join(", ")}.`})}return{...visibility!==undefined&&{visibility:parseVisibility(visibility)},...contentType!==undefined&&{contentType:parseContentType(contentType)},...metadata!==undefined&&{metadata:parseMetadataMember(text,metadata)},...ttl!==undefined&&{ttlSeconds:ttl===null?null:parseTtl(ttl,"ttl",nowMs)}}};var parseChangeBody=(text,nowMs)=>parseChanges(text,parsePlainBody(text),nowMs);var changeFile=async(access,input,nowMs)=>{const{name,changes,condition}=input;const bucket=await requireBucket(access,input,nowMs);const written=await writeInBucket(access,input,nowMs,()=>access.engine.files.change(callerOf(access),bucket,name,changes,condition,nowMs));if(!written.applied){throw condition===undefined?fileNotFound(input):fileConditionFailed(input,condition,written.current)}const{content,ttlSeconds,results}=written;const{updatedAtMs}=results[0];return{name,content,ttlSeconds,updatedAtMs,bucketId:bucket.publicId}};var changeFileOperation=defineOperation({id:"changeFile",area:"files",summary:"Change the record of a file",description:"Changes the visibility, the content type, the metadata or the ttl of a file, not its bytes. Members that are absent stay as they are; `metadata` is replaced as a whole; `ttl: null` removes the ttl. The file gets a new version.",keyNeeded:"write",effect:"writes",returns:"The record of the file.",codes:["invalid_key","invalid_ttl","bucket_not_found","file_not_found","precondition_failed"],parse(text,nowMs){const{db,bucket,name,ifUpdatedAt,...members}=parsePlainBody(text);const address=parseFileAddress(db,bucket,name);return{...address,changes:parseChanges(text,members,nowMs),condition:parseCondition(ifUpdatedAt)}},run:changeFile,present:presentFile});var deleteFile=async(access,input,nowMs)=>{const{name,condition}=input;const bucket=await requireBucket(access,input,nowMs);const written=await writeInBucket(access,input,nowMs,()=>access.engine.files.remove(callerOf(access),bucket,name,condition,nowMs));if(!written.applied)throw fileConditionFailed(input,condition,written.current);return written.results[0].deleted};var deleteFileOperation=defineOperation({id:"deleteFile",area:"files",summary:"Delete a file",description:"Deleting a file that does not exist is not an error. A download that has begun can finish.",keyNeeded:"write",effect:"destroys",returns:"Whether the file existed.",codes:["invalid_key","bucket_not_found","precondition_failed"],parse(text){const{db,bucket,name,...members}=parsePlainBody(text);const address=parseFileAddress(db,bucket,name);refuseUnknownMembers(members,["ifUpdatedAt"]);return{...address,condition:parseCondition(members.ifUpdatedAt)}},run:deleteFile,present:(deleted)=>JSON.stringify({deleted})});var getFileOperation=defineOperation({id:"getFile",area:"files",summary:"Get a file",description:"A public key reads public files only. A file past its `ttl` does not exist.",keyNeeded:"read",effect:"reads",returns:"The record of the file.",codes:["invalid_key","private_file","bucket_not_found","file_not_found"],parse(text){const{db,bucket,name,...others}=parsePlainBody(text);const address=parseFileAddress(db,bucket,name);refuseUnknownMembers(others,[]);return address},run:requireFile,present:presentFile});init_errors();init_errors();init_limits();init_errors();init_limits();init_scan();init_file_record();var fileSelections=["data","count"];var fileQueryFields=["prefix","index","select","limit","ascending","cursor","expiresIn"];var refuse7=(field,message,hint)=>{throw new CubbyError2("invalid_request",`${field} ${message}`,{field,hint})};var parsePrefix2=(value,byTime)=>{if(value===undefined)return"";if(typeof value!=="string")return refuse7("prefix",`is ${describeValue(value)}; it takes a string.`);if(byTime){return refuse7("prefix","is not a field of a query by t, which covers the whole bucket.","Leave prefix or index out.")}if(!value.isWellFormed())return refuse7("prefix","has a lone surrogate; it takes well-formed Unicode.");const bytes=Buffer.byteLength(value);if(bytes>fileNameBytesMax)return refuse7("prefix",`has ${bytes} bytes; it takes at most ${fileNameBytesMax}.`);return value};var parseExpiresIn=(value)=>{if(value===undefined)return;const isInRange=Number.isInteger(value)&&value>=1&&value<=urlSecondsMax;if(isInRange)return value;return refuse7("expiresIn",`is ${describeValue(value)}; it takes seconds, an integer from 1 to ${urlSecondsMax}.`)};var parseFileQuery=(members)=>{refuseUnknownMembers(members,fileQueryFields);const{index,ascending,select="data",limit,cursor}=members;if(index!==undefined&&index!=="t"){refuse7("index",`is ${describeValue(index)}; it takes "t".`,"Leave index out to list files by name.")}const byTime=index==="t";if(ascending!==undefined&&typeof ascending!=="boolean"){refuse7("ascending",`is ${describeValue(ascending)}; it takes true or false.`)}if(!fileSelections.includes(select)){refuse7("select",`is ${describeValue(select)}; it takes "data" or "count".`,"Leave select out to get the files.")}return{byTime,prefix:parsePrefix2(members.prefix,byTime),select,limit:select==="count"?parseLimit(limit,countRowsMax,countRowsMax):parseLimit(limit,pageRowsDefault,pageRowsMax),ascending:ascending??!byTime,cursor:cursor??undefined,expiresInSeconds:parseExpiresIn(members.expiresIn)}};var wholeScan2=({byTime,prefix,ascending},isPublic)=>{const ids={lowId:0,highId:0,descending:!ascending};const range=prefix===""?undefined:{operator:"beginsWith",operand:prefix};if(!isPublic){return byTime?{index:"t",...timeBounds(undefined),...ids}:{index:"primary",hash:fileHashKey,...primaryBounds(range),...ids}}const index=byTime?fileSlots.publicByTime:fileSlots.publicByName;return{index,hash:publicHash,...indexBounds(range),...ids}};var planFileQuery=(query,isPublic,bucketId,seal)=>{const whole=wholeScan2(query,isPublic);if(query.cursor===undefined)return{whole,page:whole,fingerprint:undefined};const fingerprint=scanFingerprint(bucketId,whole);const position=decodeScanCursor(seal,query.cursor,bucketId,whole,fingerprint);return{whole,page:resumeScan(whole,position),fingerprint}};var uploadFields=["visibility","contentType","sizeMax","ttl","metadata","replace"];var fields=["name","method","expiresIn","download",...uploadFields];var refuse8=(field,message,hint)=>{throw new CubbyError2("invalid_request",`${field} ${message}`,{field,hint})};var parseMethod=(value)=>{if(value===undefined||value==="GET")return"GET";if(value==="PUT")return"PUT";return refuse8("method",`is ${describeValue(value)}; it takes "GET" or "PUT".`,"Leave it out for a URL to read with.")};var controlCharacter2=/[\u0000-\u001f\u007f-\u009f]/;var parseDownload=(value)=>{if(value===undefined||value===false)return;if(value===true)return"";if(typeof value!=="string"){return refuse8("download",`is ${describeValue(value)}; it takes true, or the name to save the file as.`)}const length=[...value].length;if(length<1||length>downloadNameCharactersMax){return refuse8("download",`has ${length} characters; it takes 1 to ${downloadNameCharactersMax}.`,"Or give true.")}if(!value.isWellFormed())return refuse8("download","has a lone surrogate; it takes well-formed Unicode.");if(controlCharacter2.test(value))return refuse8("download","has a control character.","Remove it.");return value};var parseSizeMax=(value)=>{if(value===undefined)return;if(Number.isInteger(value)&&value>=0&&value<=fileBytesMax)return value;return refuse8("sizeMax",`is ${describeValue(value)}; it takes bytes, an integer from 0 to ${fileBytesMax}.`)};var withOptions=(entries)=>new Map(Object.entries(entries).flatMap(([name,value])=>value===undefined?[]:[[name,value]]));var parseUrlOptions=(text,members,nowMs)=>{refuseUnknownMembers(members,fields);const method=parseMethod(members.method);if(method==="GET"){const upload=uploadFields.find((field)=>members[field]!==undefined);if(upload!==undefined)refuse8(upload,"is for URLs to upload to.",'Give "method": "PUT" too, or leave it out.');const expiresInSeconds=parseExpiresIn(members.expiresIn);return{method,expiresInSeconds,options:withOptions({download:parseDownload(members.download)})}}if(members.download!==undefined)refuse8("download","is for URLs to read with.",'Leave it or "method" out.');const{visibility,contentType,sizeMax,ttl,metadata,replace}=members;const expiresInSeconds=parseExpiresIn(members.expiresIn)??urlSecondsDefault;const shown=parseVisibility(visibility);const stored=parseMetadataMember(text,metadata);const options={visibility:shown==="private"?undefined:shown,contentType:contentType===undefined?undefined:parseContentType(contentType),sizeMax:parseSizeMax(sizeMax)?.toString(),ttl:parseTtl(ttl,"ttl",nowMs)?.toString(),metadata:stored===noMetadata?undefined:stored,replace:parseFlag(replace,"replace")?"true":undefined};return{method,expiresInSeconds,options:withOptions(options)}};init_limits();var signUrl=({engine,apiKey},target,seconds,options,nowMs)=>{const expiresAtMs=Math.min(nowMs+seconds*1000,apiKey.expiresAtMs??Number.POSITIVE_INFINITY);const signed={keyId:apiKey.id,expiresAtMs,options};return{target:signedFileUrl(engine.urlKey,"",target,signed),method:target.method,expiresAtMs}};var parseFileUrl=(text,db,bucket,nowMs)=>{const{db:_,bucket:__,...members}=parsePlainBody(text);const address=parseBucketAddress(db,bucket);const options=parseUrlOptions(text,members,nowMs);return{...address,name:parseFileName(members.name),...options}};var refusePublicKey=({apiKey},{method,expiresInSeconds})=>{if(apiKey.kind==="secret"||method==="GET"&&expiresInSeconds===undefined)return;throw new CubbyError2("read_only_key","A signed URL needs a secret key; a public key gets permanent URLs.",{field:method==="PUT"?"method":"expiresIn",hint:"Leave expiresIn and method out, or send the request from your server with a secret key (svc_live_\u2026)."})};var permanentQuery=(options)=>{const download=options.get("download");if(download===undefined)return"";return download===""?"download":`download=${encodeParameter(download)}`};var getFileUrl=async(access,input,nowMs)=>{const{name,method,expiresInSeconds,options}=input;const bucket=await requireBucket(access,input,nowMs);const bucketId=bucket.publicId;const file=method==="GET"||access.apiKey.kind==="public"?await readFile(access,bucket,name,nowMs):undefined;if(file!==undefined)refusePrivate(access,file);refusePublicKey(access,input);if(file===undefined&&method==="GET")throw fileNotFound(input);if(method==="GET"&&file.content.visibility==="public"&&expiresInSeconds===undefined){return{target:fileUrl("",bucketId,name,permanentQuery(options)),method,expiresAtMs:null}}return signUrl(access,{method,bucketId,name},expiresInSeconds??urlSecondsDefault,options,nowMs)};var fileUrlJson=({target,method,expiresAtMs},base="")=>JSON.stringify({url:base+target,method,expiresAt:expiresAtMs});var getFileUrlOperation=defineOperation({id:"getFileUrl",area:"files",summary:"Get a URL of a file",description:'A URL with which anybody can read one file, or with `method: "PUT"` upload one, without an API key. A public file without `expiresIn` gets its permanent URL; every other URL is signed and expires. Signing needs a secret key.\n\nA signed URL stops working when the API key that signed it expires or is revoked. `download` makes browsers save the file instead of showing it.\n\nA URL for an upload allows that one name. It also fixes the `visibility`, `metadata` and `ttl` of the file, and, if given, its `contentType` and its largest size. Without `replace` it works only while no file has the name.',keyNeeded:"read",effect:"reads",returns:"The URL, its method and when it expires.",codes:["invalid_key","invalid_ttl","read_only_key","private_file","bucket_not_found","file_not_found"],parse(text,nowMs){const{db,bucket}=parsePlainBody(text);return parseFileUrl(text,db,bucket,nowMs)},run:getFileUrl,present:(url)=>fileUrlJson(url)});init_errors();init_blob_id();init_errors();var refuse9=(message)=>{throw new CubbyError2("invalid_request",`Content-Digest ${message}`,{field:"Content-Digest",hint:'Send the SHA-256 of the bytes in base64, between colons: "Content-Digest: sha-256=:\u2026:".'})};var key2="[a-z*][a-z0-9_.*-]*";var member=new RegExp(`^(${key2})=:([A-Za-z0-9+/]*={0,2}):(?: *;[ !-+\\--:<-~]*)*$`);var parseContentDigest=(header)=>{if(header===null)return;let sha256;for(const part of header.split(",")){const[,name,base64]=member.exec(part.trim())??refuse9("is not a list of digests.");if(name!=="sha-256")continue;const bytes=Buffer.from(base64,"base64");if(bytes.length!==32)refuse9(`has a sha-256 of ${bytes.length} bytes; it takes 32.`);sha256=bytes.toString("hex")}return sha256??refuse9("has no sha-256; other algorithms are not checked.")};var digestMismatch=(declared,found)=>new CubbyError2("digest_mismatch",`The bytes that arrived have the SHA-256 ${found}; Content-Digest declares ${declared}.`,{field:"Content-Digest",hint:"Nothing was stored. Send the file again with the digest of its bytes."});init_limits();var acceptUpload=async(access,input,nowMs)=>{const place=requirePlace(access);const bucket=await requireBucket(access,input,nowMs);const{condition,bucketId=bucket.publicId}=input;if(bucket.publicId!==bucketId)throw await bucketNotFound(access,input,nowMs);if(condition!==undefined){const current=(await readFile(access,bucket,input.name,nowMs))?.updatedAtMs;if(!holds(condition,current))throw fileConditionFailed(input,condition,current)}return{place,bucket}};var writeBytes=async(writer,chunks,{sha256:declared,bytesMax})=>{const hasher=new Bun.CryptoHasher("sha256");let size=0;for await(const chunk of chunks){size+=chunk.length;if(size>bytesMax)throw fileTooLarge(bytesMax);hasher.update(chunk);await writer.write(chunk)}const sha256=hasher.digest("hex");if(declared!==undefined&&declared!==sha256)throw digestMismatch(declared,sha256);return{size,sha256}};var storeUpload=async(access,{place,bucket},input,chunks,now)=>{const{engine}=access;const caller=callerOf(access);const{name,contentType,visibility,metadata,ttlSeconds,condition}=input;const startedAtMs=now();const blob=newBlobId(startedAtMs);await writeInBucket(access,input,startedAtMs,()=>engine.files.begin(caller,bucket,blob,startedAtMs));let writer;let mayArriveLater=false;try{writer=await place.write(blob,input.bytes);const{size,sha256}=await writeBytes(writer,chunks,input);const finishing=writer;writer=undefined;mayArriveLater=true;await finishing.finish(sha256);mayArriveLater=false;const content={size,contentType,visibility,sha256,blob,metadata};const nowMs=now();const written=await writeInBucket(access,input,nowMs,()=>engine.files.commit(caller,bucket,{name,content,ttlSeconds,condition},nowMs));if(!written.applied)throw fileConditionFailed(input,condition,written.current);const{updatedAtMs}=written.results[0];return{name,content,ttlSeconds,updatedAtMs,bucketId:bucket.publicId}}catch(error){await writer?.abort();if(!mayArriveLater)await engine.files.abandon(blob,now()).catch(()=>{});throw error}};var putFile=async(access,input,chunks,nowMs,now=()=>nowMs)=>storeUpload(access,await acceptUpload(access,input,nowMs),input,chunks,now);var parseContent=(value)=>{if(typeof value==="string"&&value.isWellFormed())return value;const found=typeof value==="string"?"has a lone surrogate":`is ${describeValue(value)}`;throw new CubbyError2("invalid_request",`content ${found}; it takes the bytes of the file as text.`,{field:"content"})};var parseInput=(text,nowMs)=>{const{db,bucket,name,...members}=parsePlainBody(text);const address=parseFileAddress(db,bucket,name);refuseUnknownMembers(members,["content","contentType","visibility","ttl","metadata","ifUpdatedAt"]);const{contentType,visibility,ttl,metadata,ifUpdatedAt}=members;const content=parseContent(members.content);return{...address,content,contentType:contentType===undefined?typeOfName(address.name):parseContentType(contentType),visibility:parseVisibility(visibility),metadata:parseMetadataMember(text,metadata),ttlSeconds:parseTtl(ttl,"ttl",nowMs),condition:parseCondition(ifUpdatedAt),sha256:undefined,bytes:Buffer.byteLength(content),bytesMax:fileBytesMax}};async function*chunksOf(text){if(text!=="")yield Buffer.from(text)}var putFileOperation=defineOperation({id:"putFile",area:"files",summary:"Put a file: create it or replace it",description:"Creates a file or replaces the existing one as a whole, with its visibility, metadata and ttl: without `visibility` the file is private, also if it was public before. When the answer is sent, the file is on disk. An upload that is interrupted leaves the previous file as it was, and no reader sees bytes of two versions.\n\nThe content type is kept as it was sent. Without one it follows the extension of the name; the server never guesses from the bytes. With a condition, the file is written only if the condition holds, when the bytes begin to arrive and when all have arrived.",keyNeeded:"write",effect:"writes",returns:"The record of the file.",codes:["invalid_key","invalid_ttl","digest_mismatch","bucket_not_found","precondition_failed","file_too_large","unsupported_media_type"],parse:parseInput,run:(access,input,nowMs)=>putFile(access,input,chunksOf(input.content),nowMs),present:presentFile});init_errors();init_limits();init_record_json();init_steps();var filesPerStep=50;var isSame=(a,b)=>a.rangeKey===b.rangeKey&&a.updatedAtMs===b.updatedAtMs&&a.data===b.data;function*presentFitting(records,present,known){const fitting=[];let bytes=1;for(const[i,record]of records.entries()){if(i%filesPerStep===filesPerStep-1)yield;const before=known[i];const text=before!==undefined&&isSame(before.record,record)?before.text:present(record);bytes+=Buffer.byteLength(text)+1;if(bytes>pageBytesMax&&i>0)return fitting;fitting.push({record,text})}return fitting}var readPage=async({engine,apiKey},bucket,page,limit,nowMs,present,runSteps)=>{let known=[];for(let rows=limit;;rows=known.length){const{records,next}=await engine.records.scan(bucket,page,rows,nowMs,apiKey.seq);known=await runSteps(presentFitting(records,present,known));if(known.length===records.length)return{items:known.map(({text})=>text),next}}};var presentListed=(access,nowMs,base="")=>(file,{expiresInSeconds})=>{if(expiresInSeconds===undefined||file.content.visibility==="public"){return fileJson(file,permanentUrl(file,base))}const target={method:"GET",bucketId:file.bucketId,name:file.name};const{target:path,expiresAtMs}=signUrl(access,target,expiresInSeconds,new Map,nowMs);return fileJson(file,base+path,{urlExpiresAtMs:expiresAtMs})};var queryFiles=async(access,{query,...address},nowMs,present,runSteps=runThrough)=>{const{engine,apiKey}=access;const isPublic=apiKey.kind==="public";if(isPublic&&query.expiresInSeconds!==undefined){throw new CubbyError2("read_only_key","expiresIn asks for signed URLs; signing needs a secret key.",{field:"expiresIn",hint:"Leave expiresIn out, or send the request from your server with a secret key (svc_live_\u2026)."})}const bucket=await requireBucket(access,address,nowMs);const{whole,page,fingerprint}=planFileQuery(query,isPublic,bucket.id,engine.cursorSeal);const cursorAt=(next)=>next===undefined?null:encodeScanCursor(engine.cursorSeal,bucket.id,whole,next,fingerprint);if(query.select==="count"){const{count,next}=await engine.records.count(bucket,page,query.limit,nowMs,apiKey.seq);return{items:[],count,cursor:cursorAt(next)}}const presentRecord=(record)=>present(fileOf(bucket,record),query);const{items,next}=await readPage(access,bucket,page,query.limit,nowMs,presentRecord,runSteps);return{items,count:items.length,cursor:cursorAt(next)}};var filePageJson=({items,count,cursor})=>items.length===0?countPageJson(count,cursor):`{"items":[${items.join(",")}],"count":${count},"cursor":${JSON.stringify(cursor)}}`;var queryFilesOperation=defineOperation({id:"queryFiles",area:"files",summary:"List the files of a bucket",description:`Files by name, in the order of their UTF-8 bytes; \`prefix\` selects the names that begin with it. With \`index: "t"\` by \`updatedAt\`, newest first unless \`ascending\` is true. ${pagesNote} A cursor is valid only with the same bucket, prefix, index, direction and kind of key; \`limit\`, \`select\` and \`expiresIn\` may change.

A public key lists the public files, as if there were no others. With \`select: "count"\` there are no items, and \`count\` is the number of files that matched. With \`expiresIn\`, which needs a secret key, private files have a signed \`url\` that is valid until \`urlExpiresAt\`.`,keyNeeded:"read",effect:"reads",returns:"A page of files.",codes:["invalid_cursor","read_only_key","bucket_not_found"],parse(text){const{db,bucket,...query}=parsePlainBody(text);return{...parseBucketAddress(db,bucket),query:parseFileQuery(query)}},run:(access,input,nowMs)=>queryFiles(access,input,nowMs,presentListed(access,nowMs)),present:filePageJson});var fileRoutes={putFile:{operation:putFileOperation,method:"PUT",paths:[filePath2],query:["visibility","ttl","metadata"],bytes:"content"},getFile:{operation:getFileOperation,method:"GET",paths:[filePath2],queryAlways:{record:true}},changeFile:{operation:changeFileOperation,method:"PATCH",paths:[filePath2],body:{schema:"ChangeFileRequest",required:true,bytesMax:plainBodyBytesMax}},deleteFile:{operation:deleteFileOperation,method:"DELETE",paths:[filePath2]},getFileUrl:{operation:getFileUrlOperation,method:"POST",paths:[`${bucketPath}/url`],body:{schema:"FileUrlRequest",required:true,bytesMax:plainBodyBytesMax}},queryFiles:{operation:queryFilesOperation,method:"POST",paths:[`${bucketPath}/query`],body:{schema:"FileQuery",required:false,bytesMax:plainBodyBytesMax}}};init_limits();init_record_key();var deleteRecord=async(access,input,nowMs)=>{const{hashKey,rangeKey,condition}=input;const table=await requireTable(access,input,nowMs);const written=await writeRecords(access,input,table,[{op:"delete",hashKey,rangeKey,condition}],nowMs);if(!written.applied)throw preconditionFailed(written.current);return written.results[0].deleted};var deleteRecordOperation=defineOperation({id:"deleteRecord",area:"records",summary:"Delete a record",description:"Deleting a record that does not exist is not an error.",keyNeeded:"write",effect:"destroys",returns:"Whether the record existed.",codes:["table_not_found","precondition_failed"],parse(text){const{db,table,...members}=parsePlainBody(text);const address=parseAddress(db,table);refuseUnknownMembers(members,["hashKey","rangeKey","ifUpdatedAt"]);const key=parseRecordKey(members.hashKey,members.rangeKey);return{...address,...key,condition:parseCondition(members.ifUpdatedAt)}},run:deleteRecord,present:(deleted)=>JSON.stringify({deleted})});init_errors();init_record_key();init_errors();init_record_json();init_record_key();var findRecord=(access,input,nowMs)=>andThen(requireTable(access,input,nowMs),(table)=>access.engine.records.get(table,input,nowMs,access.apiKey.seq));var recordNotFound=({rangeKey})=>new CubbyError2("record_not_found","There is no record with that key.",{hint:rangeKey===noRangeKey?["If it has a range key, ",{give:"rangeKey"},"."]:undefined});var getRecord=(access,input,nowMs)=>andThen(findRecord(access,input,nowMs),(record)=>{if(record===undefined)throw recordNotFound(input);return record});var getRecordOperation=defineOperation({id:"getRecord",area:"records",summary:"Get a record by its key",description:"A record past its `ttl` does not exist.",keyNeeded:"read",effect:"reads",returns:"The record.",codes:["table_not_found","record_not_found"],parse(text){const{db,table,...key}=parsePlainBody(text);const address=parseAddress(db,table);refuseUnknownMembers(key,["hashKey","rangeKey"]);return{...address,...parseRecordKey(key.hashKey,key.rangeKey)}},run:getRecord,present:(record)=>recordJson(record)});var parseItemAddress=({collection,id,rangeKey})=>({...parseCollection(collection),hashKey:parseKeyPart(id,"id"),rangeKey:rangeKey===undefined?noRangeKey:parseKeyPart(rangeKey,"rangeKey")});var itemNotFound=({rangeKey})=>new CubbyError2("record_not_found","There is no record with that id.",{hint:rangeKey===noRangeKey?"If it has a range key, give it as rangeKey.":undefined});var getItem=(access,input,nowMs)=>andThen(findRecord(access,input,nowMs),(record)=>{if(record===undefined)throw itemNotFound(input);return record});var getItemOperation=defineOperation({id:"getItem",area:"items",summary:"Get an item: the data of a record",description:"Returns the document exactly as it was written, without keys, `ttl` and version around it.",keyNeeded:"read",effect:"reads",returns:"The document.",codes:["invalid_key","table_not_found","record_not_found"],parse(text){const members=parsePlainBody(text);refuseUnknownMembers(members,["collection","id","rangeKey"]);return parseItemAddress(members)},run:getItem,present:({data})=>data});var deleteItemOperation=defineOperation({id:"deleteItem",area:"items",summary:"Delete an item",description:"Deletes the record. Deleting an item that does not exist is not an error.",keyNeeded:"write",effect:"destroys",returns:"Whether the item existed.",codes:["invalid_key","table_not_found","precondition_failed"],parse(text){const members=parsePlainBody(text);refuseUnknownMembers(members,["collection","id","rangeKey","ifUpdatedAt"]);return{...parseItemAddress(members),condition:parseCondition(members.ifUpdatedAt)}},run:deleteRecord,present:(deleted)=>JSON.stringify({deleted})});init_steps();init_json_scan();init_json_span();init_record_json();init_steps();init_indices();init_json_scan();init_json_span();var parsePut=(text,nowMs)=>{if(isCheapToBuild(text))return parseSmallPut(text,nowMs);checkJson(text);const{value,data}=runThrough(readEnvelope(text,0,""));return parseRecordToPut(parseObject(value),text,data,nowMs)};var parseSmallPut=(text,nowMs)=>{const members=parseObject(parseJson(text));let span;walkObject(text,0,"",(name,start)=>{const value=valueSpan(text,start);if(name==="data")span=value;return value.end});const record=parseRecordToPut(members,text,span,nowMs);record.built=members.data;return record};var putRecord=async(access,input,nowMs)=>{const table=await requireTable(access,input,nowMs);const{hashKey,rangeKey,data,ttlSeconds,condition}=input;const entries=readIndexEntries(table.indices,input);const put={op:"put",hashKey,rangeKey,data,ttlSeconds,entries,condition};const written=await writeRecords(access,input,table,[put],nowMs);if(!written.applied)throw preconditionFailed(written.current);const{updatedAtMs}=written.results[0];return{hashKey,rangeKey,data,ttlSeconds,updatedAtMs}};var parseInput2=(text,nowMs)=>{checkJson(text);const{value,data}=runThrough(readEnvelope(text,0,""));const{db,table,ifUpdatedAt,...members}=parseObject(value);const address=parseAddress(db,table);const record=parseRecordToPut(members,text,data,nowMs);return{...address,...record,condition:parseCondition(ifUpdatedAt)}};var putRecordOperation=defineOperation({id:"putRecord",area:"records",summary:"Put a record: create it or replace it",description:"Creates a record or replaces the existing one. When the answer is sent, the record is on disk and in every index. With a condition, it is written only if the condition holds; of several writers that name the same version, at most one succeeds.",keyNeeded:"write",effect:"writes",returns:"The record.",codes:["invalid_key","invalid_index_value","invalid_ttl","table_not_found","precondition_failed","record_too_large"],parse:parseInput2,run:putRecord,present:(record)=>recordJson(record)});var parseDocument=(text)=>{if(isCheapToBuild(text)){const built=parseJson(text);return{data:parseData(built,text,valueSpan(text,0),"data"),built}}checkJson(text);const span=valueSpan(text,0);return{data:parseData(shallowValue(text,span),text,span,"data")}};var parseInput3=(text,nowMs)=>{checkJson(text);const{value,data}=runThrough(readEnvelope(text,0,""));const members=parseObject(value);refuseUnknownMembers(members,["collection","id","rangeKey","data","ttl","ifUpdatedAt"]);return{...parseItemAddress(members),data:parseData(members.data,text,data,"data"),ttlSeconds:parseTtl(members.ttl,"ttl",nowMs),condition:parseCondition(members.ifUpdatedAt)}};var putItemOperation=defineOperation({id:"putItem",area:"items",summary:"Put an item: create it or replace it",description:"Writes a record whose `data` is the document, exactly as it was sent; white space around the document is not part of it. Everything else is as for a put of a record: the indices of the table, `ttl`, conditions. An error names a field of the document as `data.status`.",keyNeeded:"write",effect:"writes",returns:"The document.",codes:["invalid_key","invalid_index_value","invalid_ttl","table_not_found","precondition_failed","record_too_large"],parse:parseInput3,run:putRecord,present:({data})=>data});var paths=["/api/collections/:collection/items/:id"];var itemRoutes={getItem:{operation:getItemOperation,method:"GET",paths,query:["rangeKey"]},putItem:{operation:putItemOperation,method:"PUT",paths,query:["rangeKey","ttl"],body:{schema:"Item",required:true,bytesMax:bodyBytesMax,member:"data"}},deleteItem:{operation:deleteItemOperation,method:"DELETE",paths,query:["rangeKey"]}};init_limits();init_errors();init_limits();init_record_key();init_steps();init_indices();init_steps();init_json_scan();init_json_span();function*readElements(text,at,name,elementsMax,list){let pausedAt=at;const walk=new ArrayWalk(text,at);while(walk.next()){const keeps=walk.position<elementsMax;if(keeps||text[walk.at]==="{"){const element=yield*readEnvelope(text,walk.at,`${name}[${walk.position}]`,{keeps});if(keeps)list.first.push(element);walk.at=element.end}else{const span=openSpan(text,walk.at);while(!extendSpan(text,span))yield;walk.at=span.end}if(walk.at-pausedAt>=stepUnits){yield;pausedAt=walk.at}}list.count=walk.position;return walk.at}function*readListBody(text,name,elementsMax){if(isCheapToBuild(text))parseJson(text);else{const scan=new JsonScan(text);while(!scan.run(stepUnits))yield}const list={first:[],count:0};const{value}=yield*readEnvelope(text,0,"",{into:(member,at)=>member===name&&text[at]==="["?readElements(text,at,name,elementsMax,list):undefined});return{members:parseObject(value),list}}init_errors();var refuseSameRecord=(elements,name,hint)=>{const seen=new Map;elements.forEach(({hashKey,rangeKey},position)=>{const slot=JSON.stringify([hashKey,rangeKey]);const earlier=seen.get(slot);if(earlier!==undefined){throw new CubbyError2("batch_duplicate_keys",`${name}[${position}] names the same record as ${name}[${earlier}].`,{field:`${name}[${position}]`,hint})}seen.set(slot,position)})};var parseOperation=({value,data},text,nowMs,position)=>{const name=`operations[${position}]`;const prefix=`${name}.`;const members=parseObject(value,name);if(members.op==="put"){const record=parseRecordToPut(members,text,data,nowMs,prefix,["op","ifUpdatedAt"]);return{op:"put",...record,condition:parseIfUpdatedAt(members.ifUpdatedAt,`${prefix}ifUpdatedAt`)}}if(members.op==="delete"){refuseOnDelete(members,prefix);const key=parseRecordKey(members.hashKey,members.rangeKey,prefix);return{op:"delete",...key,condition:parseIfUpdatedAt(members.ifUpdatedAt,`${prefix}ifUpdatedAt`)}}throw new CubbyError2("invalid_request",`${prefix}op is ${describeValue(members.op)}; it takes "put" or "delete".`,{field:`${prefix}op`})};var refuseOnDelete=(members,prefix)=>{for(const name of["data","ttl"]){if(!Object.hasOwn(members,name))continue;throw new CubbyError2("invalid_request",`${prefix}${name} is not allowed in a delete.`,{field:`${prefix}${name}`,hint:`Leave ${name} out, or make it a put.`})}refuseUnknownMembers(members,["op","hashKey","rangeKey","ifUpdatedAt"],prefix)};var readBatch=(text)=>readListBody(text,"operations",batchOperationsMax);var parseOperations=(text,operations,list,nowMs)=>{if(!Array.isArray(operations)||list.count===0){throw new CubbyError2("invalid_request",`operations is ${Array.isArray(operations)?"empty":describeValue(operations)}; it takes 1 to ${batchOperationsMax} operations.`,{field:"operations"})}if(list.count>batchOperationsMax){throw new CubbyError2("batch_too_large",`operations has ${list.count} operations; a batch takes at most ${batchOperationsMax}.`,{field:"operations",hint:`Send them in batches of ${batchOperationsMax}; each is atomic by itself.`})}const parsed=list.first.map((operation,i)=>parseOperation(operation,text,nowMs,i));refuseSameRecord(parsed,"operations","Send the two operations in separate requests.");return parsed};function*parseBatchInSteps(text,nowMs){const{members,list}=yield*readBatch(text);refuseUnknownMembers(members,["operations"]);return parseOperations(text,members.operations,list,nowMs)}var toRecordOperation=(operation,indices,position)=>{const{hashKey,rangeKey,condition}=operation;if(operation.op==="delete")return{op:"delete",hashKey,rangeKey,condition};try{const entries=readIndexEntries(indices,operation);const{data,ttlSeconds}=operation;return{op:"put",hashKey,rangeKey,condition,data,ttlSeconds,entries}}catch(error){throw error instanceof CubbyError2?error.within(`operations[${position}]`):error}};function*toRecordOperations(batch,indices){const operations=[];let units=0;for(const operation of batch){operations.push(toRecordOperation(operation,indices,operations.length));units+=operation.op==="put"?operation.data.length:0;if(units<stepUnits)continue;yield;units=0}return operations}var applyBatch=async(access,input,nowMs,runSteps=runThrough)=>{const table=await requireTable(access,input,nowMs);const operations=await runSteps(toRecordOperations(input.operations,table.indices));const written=await writeRecords(access,input,table,operations,nowMs);if(!written.applied){throw preconditionFailed(written.current,`operations[${written.failedOperation}].ifUpdatedAt`)}return operations.length};var applyBatchOperation=defineOperation({id:"applyBatch",area:"records",summary:"Put and delete several records at once",description:"Applies all operations or none; no reader ever sees only some of them. In an error, `field` names the operation: `operations[3].data.status`.",keyNeeded:"write",effect:"destroys",returns:"All operations were applied.",codes:["invalid_key","invalid_index_value","invalid_ttl","batch_too_large","batch_duplicate_keys","table_not_found","precondition_failed","record_too_large"],parse(text,nowMs){const{members,list}=runThrough(readBatch(text));const{db,table,...batch}=members;const address=parseAddress(db,table);refuseUnknownMembers(batch,["operations"]);return{...address,operations:parseOperations(text,batch.operations,list,nowMs)}},run:(access,input,nowMs)=>applyBatch(access,input,nowMs),present:(count)=>JSON.stringify({count})});init_errors();init_limits();init_find();init_record_key();init_steps();init_json_scan();var buildFind=(text)=>{if(!isCheapToBuild(text))return;const value=parseJson(text);if(JSON.stringify(value)!==text)return;const members=parseObject(value);const first=Array.isArray(members.keys)?members.keys:[];return{members,first,count:first.length}};function*readFind(text){const built=buildFind(text);if(built!==undefined)return built;const{members,list}=yield*readListBody(text,"keys",findKeysMax);return{members,first:list.first.map(({value})=>value),count:list.count}}var parseKey=(value,position)=>{const name=`keys[${position}]`;if(typeof value!=="object"||value===null||Array.isArray(value)){throw new CubbyError2("invalid_request",`${name} is ${describeValue(value)}; it takes an object.`,{field:name,hint:'Write it as { "hashKey": \u2026 }, or as { "hashKey": \u2026, "rangeKey": \u2026 }.'})}const members=value;refuseUnknownMembers(members,["hashKey","rangeKey"],`${name}.`);return parseRecordKey(members.hashKey,members.rangeKey,`${name}.`)};var parseKeys=({members:{keys,...others},first,count})=>{refuseUnknownMembers(others,["keys"]);if(!Array.isArray(keys)||count===0){throw new CubbyError2("invalid_request",`keys is ${Array.isArray(keys)?"empty":describeValue(keys)}; it takes 1 to ${findKeysMax} record keys.`,{field:"keys",hint:'Write it as [{ "hashKey": \u2026 }, { "hashKey": \u2026, "rangeKey": \u2026 }].'})}if(count>findKeysMax){throw new CubbyError2("batch_too_large",`keys has ${count} keys; a find takes at most ${findKeysMax}.`,{field:"keys",hint:`Ask for ${findKeysMax} at a time.`})}const parsed=first.map(parseKey);refuseSameRecord(parsed,"keys",'Name each record once. No rangeKey and "#" are the same.');return parsed};function*parseFindInSteps(text){return parseKeys(yield*readFind(text))}var findRecords=async(access,{db,table:name,keys},nowMs)=>{const table=await requireTable(access,{db,table:name},nowMs);return{keys,entries:await access.engine.records.find(table,keys,nowMs,access.apiKey.seq)}};var presentFound=({keys,entries})=>findJson(keys,entries);var findRecordsOperation=defineOperation({id:"findRecords",area:"records",summary:"Get several records by their keys",description:"Returns the records in the order of `keys`. All are read from one state of the table: of a batch, either everything is visible or nothing. Keys without a record are in `missing`. When `items` is full, the remaining keys are in `unread`: ask for those again.",keyNeeded:"read",effect:"reads",returns:"The records found, and the keys of those that do not exist or did not fit.",codes:["invalid_key","batch_too_large","batch_duplicate_keys","table_not_found"],parse(text){const{members,...list}=runThrough(readFind(text));const{db,table,...find}=members;const address=parseAddress(db,table);return{...address,keys:parseKeys({members:find,...list})}},run:findRecords,present:presentFound});init_record_json();init_scan();var readPage2=({engine,apiKey},table,{select,limit},page,nowMs)=>{if(select==="count"){return andThen(engine.records.count(table,page,limit,nowMs,apiKey.seq),({count,next})=>({select,records:[],count,next}))}const found=select==="keys"?engine.records.scanKeys(table,page,limit,nowMs,apiKey.seq):engine.records.scan(table,page,limit,nowMs,apiKey.seq);return andThen(found,({records,next})=>({select,records,count:records.length,next}))};var queryRecords=async(access,input,nowMs)=>{const{query}=input;const seal=access.engine.cursorSeal;const table=await requireTable(access,input,nowMs);const{whole,page,fingerprint}=planQuery(query,table.id,table.indices,seal);if(isEmptyScan(whole))return{select:query.select,records:[],count:0,cursor:null};const{select,records,count,next}=await readPage2(access,table,query,page,nowMs);const cursor=next===undefined?null:encodeScanCursor(seal,table.id,whole,next,fingerprint);return{select,records,count,cursor}};var queryPageJson=({select,records,count,cursor})=>{if(select==="data")return pageJson(records,cursor);return select==="keys"?keysPageJson(records,cursor):countPageJson(count,cursor)};var queryRecordsOperation=defineOperation({id:"queryRecords",area:"records",summary:"Query records by key, by time of the last write or by an index",description:`Three forms:

- by primary key: \`hash\`, ordered by range key;
- by recency: \`index: "t"\` and no \`hash\`, ordered by \`updatedAt\`, newest first unless \`ascending\` is true;
- by declared index: \`index: "i1"\` to \`"i5"\` and \`hash\`, ordered by the index's range field.

The values of an index are ordered: false, true, numbers, then strings by their UTF-8 bytes. A write is in every index when its answer is sent. ${pagesNote} A cursor is valid only with the same table, hash, index, range and direction; \`limit\` and \`select\` may change.

With \`select: "keys"\` the items have no \`data\`; with \`select: "count"\` there are no items, and \`count\` is the number of records that matched.`,keyNeeded:"read",effect:"reads",returns:"A page of records.",codes:["invalid_key","invalid_index_value","index_not_declared","invalid_range","invalid_cursor","table_not_found"],parse(text){const{db,table,...query}=parsePlainBody(text);return{...parseAddress(db,table),query:parseQuery(query)}},run:queryRecords,present:queryPageJson});var recordPaths=["/v1/:db/:table/:hashKey","/v1/:db/:table/:hashKey/:rangeKey","/v1/:db/:table/query","/v1/:db/:table/find","/v1/:db/:table/batch","/v1/:db/:table/restore"];var recordRoutes={putRecord:{operation:putRecordOperation,method:"PUT",paths:["/v1/:db/:table"],body:{schema:"PutRecordRequest",required:true,bytesMax:bodyBytesMax}},queryRecords:{operation:queryRecordsOperation,method:"POST",paths:["/v1/:db/:table/query"],body:{schema:"QueryRequest",required:true,bytesMax:plainBodyBytesMax}},findRecords:{operation:findRecordsOperation,method:"POST",paths:["/v1/:db/:table/find"],body:{schema:"FindRequest",required:true,bytesMax:bodyBytesMax}},applyBatch:{operation:applyBatchOperation,method:"POST",paths:["/v1/:db/:table/batch"],body:{schema:"BatchRequest",required:true,bytesMax:batchBodyBytesMax}},getRecord:{operation:getRecordOperation,method:"GET",paths:recordPaths},deleteRecord:{operation:deleteRecordOperation,method:"DELETE",paths:recordPaths}};var pathParameters=(path)=>Array.from(path.matchAll(/:(\w+)/g),([,name])=>name);var literalHashKey=(path)=>/^\/v1\/:db\/:table\/([a-z]+)$/.exec(path)?.[1];var literalParameter=(path)=>{const hashKey=literalHashKey(path);if(hashKey!==undefined)return{hashKey};const name=/^\/v1\/:db\/_buckets\/:bucket\/([a-z]+)$/.exec(path)?.[1];if(name!==undefined)return{name};const id=/^\/api\/keys\/([a-z]+)$/.exec(path)?.[1];return id===undefined?undefined:{id}};var pathFor=({paths},input)=>{const fits=(path)=>pathParameters(path).reduce((sum,name)=>sum+(input[name]===undefined?-1:1),0);const[main,...others]=paths;const withoutWords=others.filter((path)=>literalHashKey(path)===undefined);return withoutWords.reduce((best,path)=>fits(path)>fits(best)?path:best,main)};var encodeParameter2=(name,value)=>name==="name"?encodeFileName(value):encodeURIComponent(value);var queryText=(value)=>encodeURIComponent(typeof value==="object"?JSON.stringify(value):String(value));var targetFor=(route,input)=>{const path=pathFor(route,input).replace(/:(\w+)/g,(parameter,name)=>input[name]===undefined?parameter:encodeParameter2(name,String(input[name])));const given=(route.query??[]).filter((name)=>input[name]!==undefined);const query=[...given.map((name)=>`${name}=${queryText(input[name])}`),...Object.entries(route.queryAlways??{}).map(([name,value])=>`${name}=${value}`)];return query.length===0?path:`${path}?${query.join("&")}`};init_limits();init_errors();init_indices();var presentTable=(table)=>{const{db,name,indices}=table;return{db,table:name,indices,...presentLife(table)}};var tableJson=(table)=>JSON.stringify(presentTable(table));var parseCreateTable=(members)=>{refuseUnknownMembers(members,["indices"]);return parseIndices(members.indices)};var createTable=async(access,{db,table:name,indices},nowMs)=>{const result=await access.engine.tables.create(callerOf(access),db,name,indices,nowMs);if(!result.created&&JSON.stringify(result.table.indices)!==JSON.stringify(indices)){throw new CubbyError2("table_exists",`The table ${name} exists with other indices, and indices are immutable.`,{field:"indices",hint:`It declares ${JSON.stringify(result.table.indices)}. Use those, or create a table with another name.`})}return result};var createTableOperation=defineOperation({id:"createTable",area:"tables",summary:"Create a table and declare its indices",description:"A table may declare up to five indices, in the slots `i1` to `i5`. Indices are sparse: a record without the indexed fields is stored but is not in the index. Every table also has the index `t`, by `updatedAt`, which is not declared.",keyNeeded:"write",effect:"writes",returns:"The table.",codes:["invalid_index","table_exists"],parse(text){const{db,table,...declaration}=parsePlainBody(text);return{...parseAddress(db,table),indices:parseCreateTable(declaration)}},run:createTable,present:({table})=>tableJson(table)});var deleteTable=async(access,address,nowMs)=>{const table=await access.engine.tables.delete(callerOf(access),address.db,address.table,nowMs);if(table===undefined)throw await tableNotFound(access,address,nowMs);return table};var deleteTableOperation=defineOperation({id:"deleteTable",area:"tables",summary:"Delete a table; it can be restored for 7 days",description:"Once the answer is sent, the table can only be restored, and its name is free. It can be restored for 7 days, with all its records; after that they are removed permanently.",keyNeeded:"write",effect:"destroys",returns:"The deleted table.",codes:["table_not_found"],parse:parseAddressAlone,run:deleteTable,present:tableJson});var describeTable=requireTable;var describeTableOperation=defineOperation({id:"describeTable",area:"tables",summary:"Show a table: its indices and when it was created",description:"Returns the indices of the table and when it was created.",keyNeeded:"read",effect:"reads",returns:"The table.",codes:["table_not_found"],parse:parseAddressAlone,run:describeTable,present:tableJson});var listDatabases=async(access,{limit,cursor})=>{const{engine,apiKey}=access;const seal=engine.cursorSeal;const after=cursor===undefined?undefined:decodeListCursor(seal,cursor,"databases",["string"])[0];let found;if(apiKey.databases===null)found=await engine.tables.listDatabases(apiKey.orgId,after,limit+1);else{found=[];for(const db of[...apiKey.databases].sort()){if(after!==undefined&&db<=after)continue;const first={orgId:apiKey.orgId,db,after:undefined,limit:1};const[any]=[...await engine.tables.list(first),...await engine.buckets.list(first)];if(any!==undefined)found.push(db)}}const databases=found.slice(0,limit);return{databases,cursor:found.length>limit?encodeListCursor(seal,"databases",[databases.at(-1)]):null}};var listDatabasesOperation=defineOperation({id:"listDatabases",area:"tables",summary:"List databases",description:`The databases that the API key may use and that have a table or a bucket, by name. ${pagesNote}`,keyNeeded:"read",effect:"reads",returns:"A page of names.",codes:["invalid_cursor"],parse(text){const members=parsePlainBody(text);refuseUnknownMembers(members,["limit","cursor"]);return parseListing(members)},run:listDatabases,present:(page)=>JSON.stringify(page)});var listTables=({engine,apiKey},input,nowMs)=>listOfDatabase(engine.tables,engine.cursorSeal,apiKey.orgId,input.deleted?"deleted":"tables",input,nowMs);var listTablesOperation=defineOperation({id:"listTables",area:"tables",summary:"List the tables of a database",description:`The tables of a database, by name. For a database without tables the list is empty. ${pagesNote}`,keyNeeded:"read",effect:"reads",returns:"A page of tables.",codes:["invalid_cursor"],parse:parseListOfDatabase,run:listTables,present:({rows,cursor})=>JSON.stringify({tables:rows.map(presentTable),cursor})});init_hint();var parseRestoreTable=(members)=>parseDeletedAt(members,"table","listTables");var restoreTable=async(access,input,nowMs)=>{const{db,table,deletedAtMs}=input;return restored(await access.engine.tables.restore(callerOf(access),db,table,deletedAtMs,nowMs),{kind:"table",name:table,deletedAtMs,calls:{remove:call("deleteTable",{db,table}),list:call("listTables",{db,deleted:true})},notFound:()=>tableNotFound(access,input,nowMs)})};var restoreTableOperation=defineOperation({id:"restoreTable",area:"tables",summary:"Restore a deleted table with all its records",description:"Makes a deleted table active again, with all its records and indices: the one deleted last, or another one by its `deletedAt`. If the table is active and no table with that name is deleted, nothing changes.",keyNeeded:"write",effect:"writes",returns:"The active table.",codes:["table_not_found","table_exists"],parse(text){const{db,table,...which}=parsePlainBody(text);return{...parseAddress(db,table),deletedAtMs:parseRestoreTable(which)}},run:restoreTable,present:tableJson});var optionalBody2=(schema)=>({schema,required:false,bytesMax:plainBodyBytesMax});var tableRoutes={listDatabases:{operation:listDatabasesOperation,method:"GET",paths:["/v1"],query:["limit","cursor"]},listTables:{operation:listTablesOperation,method:"GET",paths:["/v1/:db"],query:["limit","cursor","deleted"]},describeTable:{operation:describeTableOperation,method:"GET",paths:["/v1/:db/:table"]},createTable:{operation:createTableOperation,method:"POST",paths:["/v1/:db/:table"],body:optionalBody2("CreateTableRequest")},deleteTable:{operation:deleteTableOperation,method:"DELETE",paths:["/v1/:db/:table"]},restoreTable:{operation:restoreTableOperation,method:"POST",paths:["/v1/:db/:table/restore"],body:optionalBody2("RestoreTableRequest")}};var operationRoutes={...tableRoutes,...recordRoutes,...itemRoutes,...bucketRoutes,...fileRoutes,...apiKeyRoutes};var byId=operationRoutes;var isVerbAsKey=(path,operationId)=>literalHashKey(path)!==undefined&&byId[operationId].paths.some((one)=>pathParameters(one).includes("hashKey"));var verbs=[...new Set(Object.values(byId).flatMap((route)=>route.paths.flatMap((path)=>literalHashKey(path)??[])))].sort();var findRoute=(operationId)=>byId[operationId];var http=(names)=>({call({operation,input}){const route=findRoute(operation);return route===undefined?operation:`${route.method} ${targetFor(route,{...names,...input})}`},send:(members)=>`{ ${Object.entries(members).map(([name,value])=>`"${name}": ${JSON.stringify(value)}`).join(", ")} }`,give:()=>"add it to the path",repeatLater:"Repeat the request after the time in Retry-After"});var httpHint=(hint,names={})=>hint===undefined?undefined:hintText(hint,http(names));var docsNote="The API is documented at /docs.";var written=/(?:GET|PUT|POST|PATCH|DELETE) \/(?:v1|api)(?:[^\s,;)]*[^\s,;).])?|\{ "\w+": -?\d+ \}|Repeat the request after the time in Retry-After|add it to the path/g;var plainValue=/^[A-Za-z0-9_-]+$/;var plainFileName=/^[A-Za-z0-9_./-]+$/;var readFilePath=(wanted)=>{const[,db,bucket,name]=/^\/v1\/([^/]+)\/_buckets\/([^/]+)\/(.+)$/.exec(wanted)??[];if(db===undefined)return;const input={};if(db!==":db")input.db=db;if(bucket!==":bucket")input.bucket=bucket;if(!Object.values(input).every((value)=>plainValue.test(value)))return;return name!==":name"&&plainFileName.test(name)?{...input,name}:input};var readPath=(path,wanted)=>{const segments=wanted.split("/");const input={};const fits=path.split("/").every((part,i)=>{const segment=segments[i];if(segment===undefined||!part.startsWith(":"))return part===segment;if(segment===part)return true;input[part.slice(1)]=segment;return plainValue.test(segment)});return fits&&path.split("/").length===segments.length?input:undefined};var byFixedSegment=Object.values(operationRoutes).sort((a,b)=>Number(b.paths[0].includes("/_"))-Number(a.paths[0].includes("/_")));var readCall=(text)=>{const[,method,path,query]=/^(\w+) ([^?]*)\??(.*)$/.exec(text);for(const route of byFixedSegment){if(route.method!==method)continue;for(const candidate of route.paths){const input=candidate===filePath2?readFilePath(path):readPath(candidate,path);if(input===undefined)continue;const always=route.queryAlways??{};const parameters=[...new URLSearchParams(query)].filter(([name])=>!(name in always));if(!parameters.every(([,value])=>plainValue.test(value)))return;return{operation:route.operation.id,input:{...input,...Object.fromEntries(parameters)}}}}return};var readPart=(text)=>{if(text.startsWith("{"))return{send:JSON.parse(text)};if(text.startsWith("Repeat"))return{repeat:"later"};if(text.startsWith("add"))return{give:"rangeKey"};return readCall(text)??text};var readHttpHint=(whole)=>{const text=whole.replace(docsNote,"").trimEnd();const parts=[];let from=0;for(const{0:found,index}of text.matchAll(written)){parts.push(text.slice(from,index),readPart(found));from=index+found.length}return parts.length===0?text:[...parts,text.slice(from)].filter((part)=>part!=="")};var namesIn=(params)=>{const{collection,bucket}=params;const{db,table}=collection===undefined?params:divideCollection(collection);const isWhole=isName(db)&&isName(table);return{...isName(db)&&{db},...isName(table)&&{table},...isName(bucket)&&{bucket},...isWhole&&collection!==undefined&&{collection}}};var to=(operation,names)=>httpHint([{operation,input:{}}],names);var written2=(names)=>`records are written by ${to("putRecord",names)} with hashKey in the body`;var writtenByPut=(names)=>`this request creates a table; ${written2(names)}`;var writtenElsewhere=(names)=>`a record is read and deleted here; ${written2(names)}`;var found=(names)=>`records are found by ${to("queryRecords",names)}`;var foundByKeys=(names)=>`many records are read by ${to("findRecords",names)} with keys in the body`;var recordsDeleted=(names)=>`records are deleted by ${to("deleteRecord",names)}`;var batched=(names)=>`many records are written by ${to("applyBatch",names)} with operations in the body`;var restored2=(names)=>`a deleted table is restored by ${to("restoreTable",names)}`;var tableCreated=(names)=>`a database exists as soon as it has a table; tables are created by ${to("createTable",names)}`;var tablesDeleted=(names)=>`tables are deleted by ${to("deleteTable",names)}; a database is gone with its last table`;var fileTo=(method,names)=>`${to("describeBucket",names).replace("GET",method)}/<name>`;var bucketsListed=(names)=>`buckets are listed by ${to("listBuckets",names)}`;var bucketsCreated=(names)=>`buckets are created by ${to("createBucket",names)}`;var filesWritten=(names)=>`files are written by ${fileTo("PUT",names)}`;var filesListed=(names)=>`files are listed by ${fileTo("POST",names).replace("<name>","query")}`;var filesSent=(names)=>`${filesWritten(names)} with the bytes as the body (curl -T FILE, not -F)`;var urlsMade=(names)=>`URLs of files are made by ${fileTo("POST",names).replace("<name>","url")} with name in the body`;var filesDeleted=(names)=>`files are deleted by ${fileTo("DELETE",names)}`;var filesWrittenByPut=(names)=>`this request creates a bucket; ${filesWritten(names)}`;var replaced=(names)=>`a record is always written as a whole; ${written2(names)}`;var itemWritten=(names)=>`an item is written by ${to("putItem",names)} with the document as the body`;var itemIsAt=(names)=>`an item is at ${to("getItem",names)}`;var record="/v1/:db/:table/:hashKey";var fileUrlPath="/files/:bucketId/:name";var item="/api/collections/:collection/items/:id";var searches=["search","list","scan","filter","select","all","records","items"];var fileLike=/\.[A-Za-z][A-Za-z0-9]{1,4}$/;var batches=["bulk","import","transaction","many"];var asBucket=({db,table})=>({db,...table!=="buckets"&&{bucket:table}});var writtenOrFile=(says)=>(names)=>`${says(names)}; ${filesWritten(asBucket(names))}`;var wrongMethods=[{methods:"PUT POST",path:record,words:fileLike,say:writtenOrFile(writtenElsewhere)},{methods:"PUT POST",path:`${record}/:rangeKey`,words:fileLike,say:writtenOrFile(writtenElsewhere)},{methods:"POST",path:record,words:searches,say:found},{methods:"POST",path:record,words:batches,say:batched},{methods:"POST",path:record,words:["undelete","recover"],say:restored2},{methods:"POST",path:record,words:["delete","remove"],say:recordsDeleted},{methods:"PUT POST",path:record,say:writtenElsewhere},{methods:"PUT POST",path:`${record}/:rangeKey`,say:(names)=>`${writtenElsewhere(names)}, and rangeKey beside it`},{methods:"PATCH",path:"/v1/:db/:table",say:replaced},{methods:"PATCH",path:record,say:replaced},{methods:"PATCH",path:`${record}/:rangeKey`,say:replaced},{methods:"PUT PATCH",path:"/v1/:db/:table/query",say:found},{methods:"PUT PATCH",path:"/v1/:db/:table/find",say:foundByKeys},{methods:"PUT PATCH",path:"/v1/:db/:table/batch",say:batched},{methods:"PUT PATCH",path:"/v1/:db/:table/restore",say:restored2},{methods:"POST PUT",path:"/v1",say:tableCreated},{methods:"POST PUT",path:"/v1/:db",say:tableCreated},{methods:"DELETE",path:"/v1/:db",say:tablesDeleted},{methods:"POST",path:item,say:itemWritten},{methods:"PATCH",path:item,say:(names)=>`an item is always written as a whole; ${itemWritten(names)}`},{methods:"POST PUT",path:"/v1/:db/_buckets",say:bucketsCreated},{methods:"DELETE",path:"/v1/:db/_buckets",say:(names)=>`buckets are deleted by ${to("deleteBucket",names)}`},{methods:"PUT",path:"/v1/:db/_buckets/:bucket",say:(names)=>`${bucketsCreated(names)}; ${filesWritten(names)}`},{methods:"PATCH",path:"/v1/:db/_buckets/:bucket",say:(names)=>`a bucket has nothing to change; a file is changed by ${fileTo("PATCH",names)}`},{methods:"POST",path:filePath2,words:[...searches,"files","find","ls"],say:filesListed},{methods:"POST",path:filePath2,words:["url","urls","sign","signed-url","getUrl"],say:urlsMade},{methods:"POST",path:filePath2,words:["delete","remove","rm"],say:filesDeleted},{methods:"POST",path:filePath2,say:filesSent},{methods:"POST PATCH",path:fileUrlPath,say:()=>"a signed URL for an upload takes PUT with the bytes as the body (curl -T FILE, not -F)"},{methods:"DELETE",path:fileUrlPath,say:()=>`no URL deletes a file; ${filesDeleted({})} with a secret key`},{methods:"PUT",path:"/api/keys",say:()=>`keys are created by ${to("createApiKey",{})}`},{methods:"DELETE",path:"/api/keys",say:()=>`keys are revoked by ${to("revokeApiKey",{})}`},{methods:"GET",path:"/api/keys/:id",say:()=>`keys are listed by ${to("listApiKeys",{})}; the calling key is ${to("describeOwnApiKey",{})}`},{methods:"POST PUT PATCH",path:"/api/keys/:id",say:()=>`a key cannot be changed; keys are created by ${to("createApiKey",{})}`}];var sentence=(text)=>`${text[0].toUpperCase()}${text.slice(1)}.`;var withShortName=(path)=>path.replace(/\/(?::name1\/.*|\*)$/,"/:name");var isOneOf=(words,word)=>words instanceof RegExp?words.test(word):words.includes(word);var wrongMethodHint=(method,path,params,allow)=>{const short=withShortName(path);const last=params[/:(\w+)$/.exec(path)?.[1]??""]??"";const row=wrongMethods.find(({methods,path:of,words})=>of===short&&methods.split(" ").includes(method)&&(words===undefined||isOneOf(words,last)));return row===undefined?`It takes ${allow}.`:`${sentence(row.say(namesIn(params)))} This path takes ${allow}.`};var listingFields=["offset","page","filter","where","q","query","sort","order","prefix"];var recordFields=["hashKey","rangeKey","data","ttl"];var fileFields=["name","visibility","contentType","metadata","ttl","data","file"];var wrongInput=(operation,fields,say)=>({operation,code:"invalid_request",fields,say});var wrongInputs=[wrongInput("createTable",recordFields,writtenByPut),{operation:"createTable",code:"body_too_large",say:writtenByPut},wrongInput("describeTable",[...queryFields,...listingFields],found),wrongInput("describeTable",["hashKey","rangeKey","key","id"],(names)=>`a record is read by ${to("getRecord",names)}`),wrongInput("deleteTable",[undefined,...recordFields],(names)=>`this path is the table; ${recordsDeleted(names)}`),wrongInput("getRecord",queryFields,found),wrongInput("getItem",[...queryFields,...listingFields],found),wrongInput("getRecord",["rangeKey"],()=>"the range key is a segment of the path, after the hash key"),wrongInput("queryRecords",["hashKey"],()=>'in a query it is "hash"'),wrongInput("queryRecords",["rangeKey"],()=>'in a query it is "range", for example { "eq": "\u2026" }'),wrongInput("createBucket",fileFields,filesWrittenByPut),{operation:"createBucket",code:"body_too_large",say:filesWrittenByPut},{operation:"createBucket",code:"unsupported_media_type",say:filesWrittenByPut},wrongInput("describeBucket",[...queryFields,...listingFields],filesListed),wrongInput("describeBucket",["name","file","key","id"],(names)=>`a file is read by ${fileTo("GET",names)}`),wrongInput("deleteBucket",[undefined,...fileFields],(names)=>`this path is the bucket; ${filesDeleted(names)}`),{operation:"queryRecords",code:"invalid_key",fields:["hash"],missing:true,beside:true,say:found},{operation:"getRecord",code:"record_not_found",words:["query",...searches],beside:true,say:found}];var bucketMeant=(params,{code})=>{if(code==="reserved_name"&&params.db==="_buckets")return bucketsListed;return code==="table_not_found"&&params.table==="buckets"?bucketsListed:undefined};var withBetterHint=(operation,params,error)=>{const bucketHint=bucketMeant(params,error);if(bucketHint!==undefined)return hinted(error,params,bucketHint,error.code==="table_not_found");const row=wrongInputs.find((one)=>one.operation===operation&&one.code===error.code&&(one.fields?.includes(error.field)??true)&&(one.missing!==true||error.message.startsWith(`${error.field} is missing`))&&(one.words?.includes(params.hashKey)??true));return row===undefined?error:hinted(error,params,row.say,row.beside===true)};var hinted=(error,params,say,beside)=>{const names=namesIn(params);const own=beside&&error.hint!==undefined?`${httpHint(error.hint,names).replace(/(?<![.?!])$/,".")} `:"";return new CubbyError2(error.code,error.message,{field:error.field,hint:own+sentence(say(names))})};var plain2="(?:/(?!\\.\\.?(?:/|$))[A-Za-z0-9_.~-]+)";var namesAt=(path)=>{const[,,db,table,bucket]=path.split("/");return namesIn(table==="_buckets"?{db,bucket}:{db,table})};var collectionAt=(path)=>namesIn({collection:path.split("/")[3]??""});var descriptions="GET /openapi.json is for programs, GET /docs for people";var lostPaths=[{path:/^\/api\/collections\/*$/,say:()=>`a collection is a table; tables are listed by ${to("listTables",{})}; ${itemIsAt({})}`},{methods:"GET HEAD",path:/^(\/api\/collections\/[^/]+)\/*$/,say:(part)=>`a collection is a table: ${to("describeTable",collectionAt(part))}`},{methods:"POST PUT",path:/^(\/api\/collections\/[^/]+)\/*$/,say:(part)=>`a collection is a table, created by ${to("createTable",collectionAt(part))}`},{methods:"GET HEAD",path:/^(\/api\/collections\/[^/]+)\/items\/*$/,say:(part)=>`the id is missing; ${found(collectionAt(part))}`},{methods:"POST PUT PATCH",path:/^(\/api\/collections\/[^/]+)\/items\/*$/,say:(part)=>`the id is missing; ${itemWritten(collectionAt(part))}`},{path:/^(\/api\/collections\/[^/]+)\/items\/[^/]+\/+[^/]/,say:(part)=>`an item has one id; its range key is a parameter: ${to("getItem",collectionAt(part))}?rangeKey=\u2026; a / inside an id is written as %2F`},{path:/^(\/api\/collections\/[^/]+)(?:\/(?!items\/[^/])|$)/,say:(part)=>itemIsAt(collectionAt(part))},{path:new RegExp(`^(/collections/[^/]+/items${plain2}?)$`),say:(part)=>`items are below /api: /api${part}`},{methods:"DELETE",path:/^(\/v1\/[^/]*\/_buckets\/.*\/)$/,say:(part)=>`the name of the file is empty or ends with a slash; ${filesDeleted(namesAt(part))}`},{methods:"PUT PATCH",path:/^(\/v1\/[^/]+\/_buckets\/[^/]+)\/+$/,say:(part)=>`the name of the file is missing; ${filesWritten(namesAt(part))}`},{methods:"GET HEAD",path:/^(\/v1\/[^/]+\/_buckets\/[^/]+)\/[^/].*\/$/,say:(part)=>`a name does not end with "/"; ${filesListed(namesAt(part))}, with "prefix" for a part of them`},{path:/^(\/v1\/[^/]+\/_buckets\/[^/]+)\/(?:\/|.*\/(?:$|\/))/,methods:"GET HEAD POST PUT PATCH",say:(part)=>`a name does not begin or end with "/", and has no "//"; a file is at ${fileTo("GET",namesAt(part)).slice(4)}`},{methods:"DELETE",path:/^(\/v1\/.*\/)$/,say:(part)=>`the last key is empty; ${recordsDeleted(namesAt(part))}`},{methods:"GET HEAD POST PUT PATCH",path:new RegExp(`^(${plain2}+)/+$`),say:(part)=>`without the slash at its end: ${part}`},{path:new RegExp(`^/api(/v1${plain2}*)$`),say:(part)=>`tables and records are below /v1: ${part}`},{path:new RegExp(`^(/[a-z0-9-][a-z0-9_-]{0,63}/_buckets${plain2}*)$`),say:(part)=>`buckets and files are below /v1: /v1${part}`},{path:/^\/(?:api\/)?_?buckets(?:\/[A-Za-z0-9_.-]+)*$/,say:()=>bucketsListed({})},{path:/^(\/keys(?:\/[A-Za-z0-9_]+)?)$/,say:(part)=>`keys are below /api: /api${part}`},{path:/^\/(?:api\/)?(?:docs|openapi|swagger|redoc|api-docs)(?:\.(?:json|ya?ml))?$/,say:()=>descriptions},{path:/^\/(?:health|healthcheck|livez|ping|status|ready)$/,say:()=>"GET /healthz says whether the process is alive, GET /readyz whether it can serve"},{path:new RegExp(`^/v[02-9]\\d*(${plain2}*)$`),say:(part)=>`the version is v1: /v1${part}`},{path:new RegExp(`^((?!/(?:v\\d+|api|keys|docs|healthz|readyz)/)(?:/[a-z0-9-][a-z0-9_-]{0,63}){2}${plain2}{0,2})$`),say:(part)=>`tables and records are below /v1: /v1${part}`},{path:/^\/v1(?:\/[^/]+){5,}$/,say:()=>"a path has at most two keys: /v1/:db/:table/:hashKey/:rangeKey; a / inside a key is written as %2F"}];var generalHint="Records: /v1/:db/:table/:hashKey[/:rangeKey]; tables: /v1/:db/:table; items: /api/collections/:collection/items/:id; files: /v1/:db/_buckets/:bucket/<name>; keys: /api/keys. No trailing slash.";var lostPathHint=(method,path)=>{for(const{methods,path:form,say}of lostPaths){if(methods!==undefined&&!methods.split(" ").includes(method))continue;const match=form.exec(path);if(match!==null)return sentence(say(match[1]??""))}return generalHint};var keyHeaders=["X-Api-Key","Api-Key","ApiKey","X-Auth-Token","X-Access-Token"];var keyParameter=/[?&](api[_-]?key|key|access_token|token)=/i;var missingKeyHint=({headers,url})=>{const send='Send the header "Authorization: Bearer <API key>"';const header=keyHeaders.find((name)=>headers.has(name));if(header!==undefined)return`${send}; ${header} is not read.`;const parameter=keyParameter.exec(url)?.[1];return parameter===undefined?`${send}.`:`${send}; the parameter ${parameter} is not read, and a URL ends up in logs.`};var wrongSchemeHint=(header)=>{if(/^bearer$/i.test(header))return'There is no key after "Bearer": is the variable that holds it empty?';if(/^svc_(?:live|pub)_\S+$/.test(header))return'Write "Bearer " before the key: "Authorization: Bearer svc_live_\u2026".';return};var invalid=(message,hint='Send "Authorization: Bearer svc_live_\u2026" or "svc_pub_\u2026".')=>new CubbyError2("invalid_api_key",message,{hint});var readHeaders=new Map;var presentedKey=(request)=>{const header=request.headers.get("authorization");if(header===null){throw new CubbyError2("missing_api_key","The request carries no API key.",{hint:missingKeyHint(request)})}const known=readHeaders.get(header);if(known!==undefined)return known;const text=/^bearer +(\S+)$/i.exec(header)?.[1];if(text===undefined){throw invalid('The Authorization header is not of the form "Bearer <API key>".',wrongSchemeHint(header))}if(!isWellFormedApiKey(text))throw invalid("The API key is malformed.");if(header.length!=="Bearer ".length+text.length)return text;if(readHeaders.size>=apiKeyCacheEntriesMax)readHeaders.clear();readHeaders.set(header,text);return text};var keyUseNoteMs=1000;class Authenticator{#engine;#place;#now;#onKeyUse;#notedKeyId="";#notedAtMs=Number.NEGATIVE_INFINITY;constructor({engine,place,now,onKeyUse}){this.#engine=engine;this.#place=place;this.#now=now;this.#onKeyUse=onKeyUse}authenticate(caller){const nowMs=this.#now();caller.nowMs=nowMs;const{request}=caller;return andThen(findActiveKey(this.#engine,request,nowMs),(apiKey)=>{refuseInForeignPage(apiKey,request.headers);authorize(apiKey,caller.keyNeeded,databaseOf(caller.params));this.#noteKeyUse(apiKey.id,nowMs);caller.access={engine:this.#engine,apiKey,place:this.#place}})}#noteKeyUse(keyId,nowMs){const sinceMs=nowMs-this.#notedAtMs;if(keyId===this.#notedKeyId&&sinceMs>=0&&sinceMs<keyUseNoteMs)return;this.#notedKeyId=keyId;this.#notedAtMs=nowMs;this.#onKeyUse(keyId,nowMs)}}var findActiveKey=(engine,request,nowMs)=>andThen(engine.apiKeys.find(presentedKey(request)),(apiKey)=>{if(apiKey===undefined)throw invalid("The API key is unknown.");refuseRetired(apiKey,nowMs);return apiKey});var revoked=()=>new CubbyError2("revoked_api_key","The API key has been revoked.",{hint:"Use another key; revocation is permanent."});var refuseRetired=(apiKey,nowMs)=>{if(apiKey.revokedAtMs!==null)throw revoked();if(apiKey.expiresAtMs!==null&&apiKey.expiresAtMs<=nowMs){throw new CubbyError2("expired_api_key",`The API key expired at ${new Date(apiKey.expiresAtMs).toISOString()}.`,{hint:["Create another key: ",call("createApiKey"),"."]})}};var refuseInForeignPage=(apiKey,headers)=>{if(apiKey.kind==="public"||!isFromForeignPage(headers))return;throw new CubbyError2("secret_key_in_browser","A secret key was sent by a web page of another origin.",{hint:"Use a public key (svc_pub_\u2026) in browsers, revoke this one, and keep secret keys on your server."})};var isFromForeignPage=(headers)=>{const site=headers.get("sec-fetch-site");if(site!==null)return site==="cross-site"||site==="same-site";const origin=headers.get("origin");if(origin===null)return false;const host=/^[a-z][a-z0-9+.-]*:\/\/(.*)$/i.exec(origin)?.[1];return host?.toLowerCase()!==headers.get("host")?.toLowerCase()};init_errors();init_limits();init_errors();init_limits();init_errors();init_limits();var tooLarge=(bytesMax,hint)=>new CubbyError2("body_too_large",`The body is larger than ${bytesMax} bytes.`,{hint});var tooMany=()=>new CubbyError2("unavailable","Too many bodies of requests with this API key are arriving at once.",{hint:"Repeat the request after the time in Retry-After; nothing was applied."});var cutShort=()=>new CubbyError2("invalid_request","The body ended before it was complete.");class BodyAbandoned extends CubbyError2{}var tooSlow=()=>new BodyAbandoned("unavailable",`The body did not arrive within ${bodyMsMax/1000} seconds; nothing was applied.`,{hint:"Send the whole body at once."});var stalled=()=>new BodyAbandoned("unavailable",`Fewer than ${bodyProgressBytesMin} bytes of the body arrived within ${bodyMsMax/1000} seconds; the server stopped reading it.`,{hint:"Repeat the request and send the body without long pauses."});var uploadStalled=()=>new BodyAbandoned("unavailable",`Nothing of the file arrived within ${fileIdleMsMax/1000} seconds; the server stopped reading it. Nothing was stored.`,{hint:"Repeat the request and send the file without long pauses."});var tooFine=()=>new BodyAbandoned("invalid_request",`The body has more than ${bodyChunksFreeMax} chunks, of fewer than ${bodyChunkBytesMin} bytes on average.`,{hint:"Send it with Content-Length, or in larger chunks."});var paused=()=>new BodyAbandoned("unavailable","Another body sent with this API key had too many chunks; chunked bodies must wait.",{hint:"Repeat the request after the time in Retry-After, or send it with Content-Length."});var ambiguousLength=()=>new BodyAbandoned("invalid_request","Content-Length is not one number.",{hint:"Send Content-Length once."});var withoutLength=()=>new CubbyError2("invalid_request","The body is chunked; this request needs Content-Length.",{hint:"Send the body with its length."});var expireTogetherMax=64;class Deadlines{#msMax;#timed=new Set;#watch;constructor(msMax,lookEveryMs){this.#msMax=msMax;this.#watch=setInterval(()=>this.#expireSome(),lookEveryMs);this.#watch.unref()}get size(){return this.#timed.size}add(timed){this.#timed.add(timed)}remove(timed){return this.#timed.delete(timed)}stop(){clearInterval(this.#watch)}#expireSome=()=>{const startedBefore=performance.now()-this.#msMax;let expired=0;for(const timed of this.#timed){if(timed.startedAtMs>startedBefore)return;if(expired++===expireTogetherMax){setImmediate(this.#expireSome);return}this.#timed.delete(timed);timed.expire()}}}init_limits();var pauseMs=1000;var pausedKeysMax=1000;var isTooFine=(pieces,bytes)=>pieces>bodyChunksFreeMax+bytes/bodyChunkBytesMin;var unwantedChunksMax=64;var isSmall=(pieces,bytes)=>pieces>unwantedChunksMax+bytes/bodyChunkBytesMin;class FineChunks{#pausedUntilMs=new Map;pause(keySeq){if(this.#pausedUntilMs.size>=pausedKeysMax)this.#pausedUntilMs.clear();this.#pausedUntilMs.set(keySeq,performance.now()+pauseMs)}isPaused(keySeq){const untilMs=this.#pausedUntilMs.get(keySeq);if(untilMs===undefined)return false;if(performance.now()<untilMs)return true;this.#pausedUntilMs.delete(keySeq);return false}}var wholeBytesMax=16*1024;var joinedBytes=4*1024;var lookEveryMs=1000;var sendLessHint="Send less at once: several records in several requests.";var decoder=new TextDecoder("utf-8",{fatal:true,ignoreBOM:true});class Pieces{#pieces=[];#joined;#joinedLength=0;length=0;push(piece){this.length+=piece.length;if(piece.length>=joinedBytes/2){this.#closeJoined();this.#pieces.push(piece);return}if(this.#joinedLength+piece.length>joinedBytes)this.#closeJoined();this.#joined??=new Uint8Array(joinedBytes);this.#joined.set(piece,this.#joinedLength);this.#joinedLength+=piece.length}all(){this.#closeJoined();return this.#pieces.length===1?this.#pieces[0]:Buffer.concat(this.#pieces)}#closeJoined(){if(this.#joined===undefined)return;this.#pieces.push(this.#joined.subarray(0,this.#joinedLength));this.#joined=undefined;this.#joinedLength=0}}class Progress{#waitedMs=0;#bytes=0;add(bytes,waitedMs){this.#bytes+=bytes;this.#waitedMs+=waitedMs;if(this.#bytes>=bodyProgressBytesMin){this.#bytes=0;this.#waitedMs=0}return this.#waitedMs<=bodyMsMax}}class BodyReader{#inFlight=new Shares(bodiesInFlightBytesMax);#deadlines=new Deadlines(bodyMsMax,lookEveryMs);fineChunks=new FineChunks;stop(){this.#deadlines.stop()}release(holder){if(holder.heldBytes===0)return;this.#inFlight.give(holder.orgId,holder.keySeq,holder.heldBytes);holder.heldBytes=0}async read(request,bytesMax,holder){const{headers}=request;const length=declaredLength(headers);if(length===0||length===undefined&&request.body===null)return"";refuseOtherTypes(headers);if(length!==undefined&&length>bytesMax)throw tooLarge(bytesMax,sendLessHint);if(length===undefined&&this.fineChunks.isPaused(holder.keySeq))throw paused();const bytes=length!==undefined&&length<=wholeBytesMax?await this.#readWhole(request):await this.#readPieces(request,bytesMax,holder);try{return decoder.decode(bytes)}catch{throw new CubbyError2("invalid_json","The body is not valid UTF-8.",{hint:"Send JSON in UTF-8."})}}stream(request,bytesMax,holder){const length=declaredLength(request.headers);if(request.headers.has("transfer-encoding"))throw withoutLength();if(length!==undefined&&length>bytesMax)throw tooLarge(bytesMax);return this.#pieces(request.body,holder)}async*#pieces(body,holder){if(body===null)return;const fault=this.#keep(bodyStreamBytes,holder);if(fault!==undefined)throw fault;const reader=body.getReader();const progress=new Progress;let isComplete=false;try{for(;;){const askedAtMs=performance.now();const{value,done}=await this.#nextPiece(reader);if(done){isComplete=true;return}if(!progress.add(value.length,performance.now()-askedAtMs))throw stalled();yield value}}finally{if(!isComplete)reader.cancel().catch(()=>{});this.release(holder)}}#nextPiece(reader){return new Promise((resolve,reject)=>{const reading={startedAtMs:performance.now(),expire:()=>reject(stalled())};this.#deadlines.add(reading);reader.read().then((result)=>{this.#deadlines.remove(reading);resolve(result)},()=>{this.#deadlines.remove(reading);reject(cutShort())})})}#readWhole(request){return new Promise((resolve,reject)=>{const reading={startedAtMs:performance.now(),expire:()=>reject(tooSlow())};this.#deadlines.add(reading);request.bytes().then((bytes)=>{this.#deadlines.remove(reading);resolve(bytes)},()=>{this.#deadlines.remove(reading);reject(cutShort())})})}#readPieces(request,bytesMax,holder){return new Promise((resolve,reject)=>{const reader=request.body.getReader();const body=new Pieces;let pieces=0;const reading={startedAtMs:performance.now(),expire:()=>abandon(tooSlow())};this.#deadlines.add(reading);let isOver=false;const abandon=(error)=>{isOver=true;this.#deadlines.remove(reading);reader.cancel().catch(()=>{});reject(error)};const onPiece=({value,done})=>{if(isOver)return;if(done){this.#deadlines.remove(reading);resolve(body.all());return}body.push(value);const fault=this.#keep(value.length,holder)??this.#faultOf(body.length,++pieces,bytesMax,holder);if(fault===undefined)reader.read().then(onPiece,onFault);else abandon(fault)};const onFault=()=>{if(!isOver)abandon(cutShort())};reader.read().then(onPiece,onFault)})}#keep(bytes,holder){if(!this.#inFlight.tryTake(holder.orgId,holder.keySeq,bytes))return tooMany();holder.heldBytes+=bytes;return}#faultOf(bytes,pieces,bytesMax,{keySeq}){if(bytes>bytesMax)return tooLarge(bytesMax,sendLessHint);if(!isTooFine(pieces,bytes))return;this.fineChunks.pause(keySeq);return tooFine()}}var declaredLength=(headers)=>{const header=headers.get("content-length");if(header===null)return;if(!/^[0-9]{1,15}$/.test(header))throw ambiguousLength();return Number(header)};var refuseOtherTypes=(headers)=>{const type=headers.get("content-type");if(type!==null&&type!=="application/json"&&!/^application\/json\s*(?:;|$)/i.test(type.trim())){throw new CubbyError2("unsupported_media_type","The body is not declared as application/json.",{hint:'Send "Content-Type: application/json".'})}const encoding=headers.get("content-encoding");if(encoding!==null&&encoding.toLowerCase()!=="identity"){throw new CubbyError2("unsupported_media_type","Compressed bodies are not supported.",{hint:"Send the body without Content-Encoding."})}};var refuseBody=(headers)=>{const length=headers.get("content-length");if((length===null||Number(length)===0)&&!headers.has("transfer-encoding"))return;refuseOtherTypes(headers);throw new CubbyError2("invalid_request","This request takes no body.",{hint:"Send it without one; keys go in the path, conditions in If-Match."})};init_errors();var refuse10=(header,message,hint)=>{throw new CubbyError2("invalid_request",`${header} ${message}`,{field:header,hint})};var refuseConditions=(headers)=>{for(const header of["If-Match","If-None-Match"]){if(headers.has(header))refuse10(header,"is not allowed on this request.","Conditions are allowed on GET, PUT and DELETE of a record.")}};var versionTag=/^"(0|[1-9][0-9]{0,15})"$/;var strongTag=/^"[\x21\x23-\x7e\x80-\xff]*"$/;var noVersion=-1;var parseIfMatch=(value)=>{if(value==="*")return"exists";const version=versionTag.exec(value);if(version!==null)return{version:Number(version[1])};if(strongTag.test(value))return{version:noVersion};return refuse10("If-Match","is not one strong entity tag.",'Send the ETag of a record unchanged, quotes included, for example "1767225600000"; or *.')};var parseWriteCondition=(headers,method)=>{const ifMatch=headers.get("if-match");const ifNoneMatch=headers.get("if-none-match");if(ifNoneMatch===null)return ifMatch===null?undefined:parseIfMatch(ifMatch);if(method!=="PUT")return refuse10("If-None-Match",`is not allowed on ${method}.`,"Use If-Match.");if(ifMatch!==null)return refuse10("If-None-Match","cannot be combined with If-Match.","Send one condition.");if(ifNoneMatch!=="*"){return refuse10("If-None-Match","takes only * on PUT.","Send If-None-Match: * to create, If-Match to replace.")}return"absent"};var matchesIfNoneMatch=(headers,version)=>{const value=headers.get("if-none-match");if(value===null)return false;if(value.trim()==="*")return true;const tags=value.match(/"[^"]*"/g)??[];return tags.includes(`"${version}"`)};var refuseIfMatchOnRead=(headers)=>{if(headers.has("if-match"))refuse10("If-Match","is not allowed on GET.","Use If-None-Match to revalidate a copy.")};var wantsMinimal=(headers)=>{const value=headers.get("prefer");return value!==null&&/(?:^|[,;])\s*return\s*=\s*"?minimal"?\s*(?:$|[,;])/i.test(value)};init_errors();init_limits();var parseParameters=(url,known)=>{const start=url.indexOf("?");const values={};if(start<0)return values;for(const[name,value]of new URLSearchParams(url.slice(start+1))){const field=name.slice(0,80);if(!known.includes(name)){throw new CubbyError2("invalid_request",`${field} is not a query parameter of this request.`,{field,hint:known.length===0?"It takes none.":`Known parameters: ${known.join(", ")}.`})}if(values[name]!==undefined){throw new CubbyError2("invalid_request",`${field} appears twice.`,{field,hint:"Send it once."})}values[name]=value}return values};var parseIntegerParameter=(value)=>value!==undefined&&/^[0-9]+$/.test(value)?Number(value):value;var parseLimitParameter=(value)=>parseLimit(parseIntegerParameter(value),pageRowsDefault,pageRowsMax);var flagValues={true:true,false:false};var parseFlagParameter=(value,name)=>parseFlag(value===undefined?undefined:flagValues[value]??value,name);init_record_json();var statusOf={invalid_json:400,invalid_request:400,invalid_name:400,reserved_name:400,invalid_key:400,invalid_index:400,invalid_index_value:400,index_not_declared:400,invalid_range:400,invalid_cursor:400,invalid_ttl:400,batch_too_large:400,batch_duplicate_keys:400,digest_mismatch:400,missing_api_key:401,invalid_api_key:401,expired_api_key:401,revoked_api_key:403,read_only_key:403,key_scope:403,secret_key_in_browser:403,private_file:403,invalid_signature:403,expired_url:403,route_not_found:404,table_not_found:404,record_not_found:404,key_not_found:404,bucket_not_found:404,file_not_found:404,method_not_allowed:405,table_exists:409,bucket_exists:409,precondition_failed:412,record_too_large:413,body_too_large:413,file_too_large:413,unsupported_media_type:415,range_not_satisfiable:416,internal:500,store_damaged:500,outcome_unknown:500,unavailable:503,storage_full:507};var retryAfterSeconds=1;var exposedHeaders="Accept-Ranges, Content-Disposition, Content-Range, ETag, Repr-Digest, Retry-After, X-Request-Id";var allowedHeaders="authorization, content-digest, content-type, if-match, if-none-match, if-range, prefer, range, x-request-id";var allowedMethods="GET, HEAD, POST, PUT, PATCH, DELETE, OPTIONS";var commonHeaders=new Headers({"Content-Type":"application/json","Cache-Control":"private, no-cache","Access-Control-Allow-Origin":"*","Access-Control-Expose-Headers":exposedHeaders,"X-Content-Type-Options":"nosniff",Vary:"Authorization"});var respond=(requestId,body,status=200)=>{const response=new Response(body,{status,headers:commonHeaders});response.headers.set("X-Request-Id",requestId);return response};var tagged=(response,version)=>{response.headers.set("ETag",`"${version}"`);return response};var respondJson=(requestId,body,status=200)=>respond(requestId,JSON.stringify(body),status);var respondText=(requestId,text,status=200)=>respond(requestId,text,status);var respondLongText=(exchange,text)=>respond(exchange.requestId,exchange.bodyOf(text));var respondRecord=(exchange,record)=>{const version=String(record.updatedAtMs);return tagged(respond(exchange.requestId,exchange.bodyOf(recordJson(record,version))),version)};var respondDocument=(exchange,{data,updatedAtMs})=>tagged(respond(exchange.requestId,exchange.bodyOf(data)),String(updatedAtMs));var respondWritten=(requestId,{updatedAtMs})=>{const response=tagged(respond(requestId,null,204),String(updatedAtMs));response.headers.delete("Content-Type");return response};var respondMinimal=(requestId,record)=>tagged(respond(requestId,headJson(record)),String(record.updatedAtMs));var respondVersion=(exchange,text,version)=>tagged(respond(exchange.requestId,exchange.bodyOf(text)),String(version));var respondNotModified=(requestId,updatedAtMs)=>tagged(respond(requestId,null,304),String(updatedAtMs));var respondEntryPoint=(requestId,entryPoint)=>{const response=respondJson(requestId,entryPoint);response.headers.set("Vary","Accept");return response};var respondRedirect=(requestId,path)=>{const response=respond(requestId,null,302);response.headers.delete("Content-Type");response.headers.set("Location",path);response.headers.set("Vary","Accept");return response};var respondError=(requestId,error,{allow,names}={})=>{const{code,message,field}=error;const status=statusOf[code];const isLost=status===401||code==="route_not_found";const own=httpHint(error.hint,names);const hint=isLost?[own,docsNote].join(" ").trimStart():own;const response=respondJson(requestId,{error:{code,message,field,hint,requestId}},status);if(status===401)response.headers.set("WWW-Authenticate","Bearer");if(status===503)response.headers.set("Retry-After",String(retryAfterSeconds));if(allow!==undefined)response.headers.set("Allow",allow);return response};var respondPreflight=(requestId)=>new Response(null,{status:204,headers:{"X-Request-Id":requestId,"Access-Control-Allow-Origin":"*","Access-Control-Allow-Methods":allowedMethods,"Access-Control-Allow-Headers":allowedHeaders,"Access-Control-Expose-Headers":exposedHeaders,"Access-Control-Max-Age":"86400","X-Content-Type-Options":"nosniff"}});init_errors();var rangeForm=/^bytes=(.*)$/i;var elementForm=/^(?:([0-9]+)-([0-9]*)|-([0-9]+))$/;var parseByteRange=(header,size)=>{const list=rangeForm.exec(header.trim())?.[1];if(list===undefined)return;const elements=list.split(",").flatMap((element)=>element.trim()||[]);const parts=elements.length===1?elementForm.exec(elements[0]):null;if(parts===null)return;const[,first,last,suffix]=parts;if(suffix!==undefined){const bytes=Math.min(Number(suffix),size);return bytes===0?"unsatisfiable":{start:size-bytes,end:size}}const start=Number(first);if(last!==""&&Number(last)<start)return;if(start>=size)return"unsatisfiable";return{start,end:last===""?size:Math.min(Number(last)+1,size)}};var contentRange=({start,end},size)=>`bytes ${start}-${end-1}/${size}`;var unsatisfiedRange=(size)=>`bytes */${size}`;var inlineTypes=["image/png","image/jpeg","image/gif","image/webp","image/avif","image/bmp","image/x-icon","application/pdf","text/plain"];var isShown=(contentType)=>{const essence=essenceOf(contentType);return essence.startsWith("audio/")||essence.startsWith("video/")||inlineTypes.includes(essence)};var encoded=(name)=>encodeURIComponent(name).replace(/['()*]/g,(character)=>`%${character.charCodeAt(0).toString(16).toUpperCase()}`);var fileNameParameters=(given)=>{const name=given.replace(/[\u0000-\u001f\u007f-\u009f]+/g,"_");const ascii=name.replace(/[^\x20-\x7e]+/g,"_").replace(/["\\]/g,"\\$&");const plain=`filename="${ascii}"`;return/^[^"\\%\x7f-\uffff]*$/.test(name)?plain:`${plain}; filename*=UTF-8''${encoded(name)}`};var lastSegment=(name)=>name.slice(name.lastIndexOf("/")+1);var contentDisposition=(name,contentType,download)=>{const kind=download===undefined&&isShown(contentType)?"inline":"attachment";return`${kind}; ${fileNameParameters(typeof download==="string"?download:lastSegment(name))}`};var policy="default-src 'none'; style-src 'unsafe-inline'; media-src 'self'; sandbox";var safetyHeaders={"X-Content-Type-Options":"nosniff","Referrer-Policy":"no-referrer","Cross-Origin-Resource-Policy":"cross-origin"};var policyFor=(contentType)=>essenceOf(contentType)==="application/pdf"?{}:{"Content-Security-Policy":policy};var withSafety=(response)=>{for(const[name,value]of Object.entries(safetyHeaders))response.headers.set(name,value);response.headers.set("Content-Security-Policy",policy);return response};var asUrlAnswer=(response)=>{const{headers}=response;headers.delete("Vary");if(response.status>=400)headers.set("Cache-Control","no-store");return headers.has("Repr-Digest")?response:withSafety(response)};var matchesIfMatch=(headers,tag)=>{const value=headers.get("if-match");if(value===null||value.trim()==="*")return true;return value.split(",").some((one)=>one.trim()===tag)};var changed=(tag)=>new CubbyError2("precondition_failed",`The bytes of the file have the tag ${tag}, which If-Match does not name.`,{field:"If-Match",hint:"Read the file without If-Match, or with the ETag of an earlier answer with its bytes."});var notSatisfiable=(size)=>new CubbyError2("range_not_satisfiable",`The file has ${size} bytes; the range has none of them.`,{field:"Range",hint:"Content-Range has the size of the file: bytes */<size>."});var rangeOf=({method,headers},size,tag)=>{const range=headers.get("range");if(range===null||method!=="GET")return;const ifRange=headers.get("if-range");return ifRange===null||ifRange.trim()===tag?parseByteRange(range,size):undefined};var respondFile=async(exchange,{name,content},place,{cacheControl,download})=>{const{request,requestId}=exchange;const{size,contentType,sha256,blob}=content;const tag=`"${sha256}"`;if(!matchesIfMatch(request.headers,tag))return withSafety(respondError(requestId,changed(tag)));const headers={ETag:tag,"Accept-Ranges":"bytes","Repr-Digest":`sha-256=:${Buffer.from(sha256,"hex").toString("base64")}:`,"Cache-Control":cacheControl,"Content-Disposition":contentDisposition(name,contentType,download),...safetyHeaders,...policyFor(contentType),"Access-Control-Allow-Origin":"*","Access-Control-Expose-Headers":exposedHeaders,"X-Request-Id":requestId,Vary:"Authorization"};if(matchesIfNoneMatch(request.headers,sha256))return new Response(null,{status:304,headers});const range=rangeOf(request,size,tag);if(range==="unsatisfiable"){const response=withSafety(respondError(requestId,notSatisfiable(size)));response.headers.set("Content-Range",unsatisfiedRange(size));return response}const{start,end}=range??{start:0,end:size};const body=await exchange.fileBodyOf({place,blob,start,end});headers["Content-Type"]=contentType;if(range!==undefined)headers["Content-Range"]=contentRange(range,size);if(request.method==="HEAD")headers["Content-Length"]=String(size);return new Response(body,{status:range===undefined?200:206,headers})};init_errors();init_limits();init_names();init_record_key();var addressOf=({params})=>parseAddress(params.db,params.table);var bucketAddressOf=({params})=>parseBucketAddress(params.db,params.bucket);var refuseBadEscapes=(url,segment,field)=>{if(!segment.includes("\uFFFD"))return;try{decodeURIComponent(url.split("?",1)[0])}catch{throw badEscape(field)}};var badEscape=(field)=>new CubbyError2("invalid_key",`${field} has a percent-escape that is malformed or not UTF-8.`,{field,hint:"Percent-encode the UTF-8 bytes of the key once, as encodeURIComponent does."});var keyOf=({params,request},name)=>{refuseBadEscapes(request.url,params[name],name);return parseKeyPart(params[name],name)};var rangeKeyIn=(url,rangeKey)=>{if(rangeKey===undefined)return noRangeKey;try{decodeURIComponent(url.slice(url.indexOf("?")))}catch{throw badEscape("rangeKey")}return parseKeyPart(rangeKey,"rangeKey")};var readMembers=async(exchange,optional=false)=>{const text=await exchange.readBody(plainBodyBytesMax);return text===""&&optional?{}:parsePlainBody(text)};var refuseExtras=({request})=>{parseParameters(request.url,[]);refuseConditions(request.headers)};var readListing=({request})=>{const{limit,cursor}=parseParameters(request.url,["limit","cursor"]);refuseConditions(request.headers);return{limit:parseLimitParameter(limit),cursor}};var readListOfDatabase=({params,request})=>{const db=parseName(params.db,"db");const{limit,cursor,deleted}=parseParameters(request.url,["limit","cursor","deleted"]);refuseConditions(request.headers);return{db,deleted:parseFlagParameter(deleted,"deleted"),limit:parseLimitParameter(limit),cursor}};var fileNameOf=({params,request})=>{const{name}=params;if(name===undefined){throw new CubbyError2("invalid_key",`name has more than ${fileNameSegmentsMax} segments.`,{field:"name",hint:'Use fewer "/".'})}refuseBadEscapes(request.url,name,"name");return parseFileName(name)};var fileAddressOf=(exchange)=>{const{db,bucket}=exchange.params;return{...parseBucketAddress(db,bucket),name:fileNameOf(exchange)}};var refuseEncoding=(headers)=>{if(!headers.has("content-encoding"))return;throw new CubbyError2("unsupported_media_type","Content-Encoding is not allowed on a file.",{field:"Content-Encoding",hint:"Send the bytes as they are; for a compressed file give its own Content-Type, such as application/gzip."})};var parseTtlParameter=(value,nowMs)=>parseTtl(value!==undefined&&/^-?[0-9]+$/.test(value)?Number(value):value,"ttl",nowMs);var readUploadHead=(headers,url,address,nowMs)=>{const contentType=typeOfUpload(headers.get("content-type"),address.name);refuseEncoding(headers);const bytes=declaredLength(headers);if(bytes!==undefined&&bytes>fileBytesMax)throw fileTooLarge();const sha256=parseContentDigest(headers.get("content-digest"));const{visibility,ttl,metadata}=parseParameters(url,["visibility","ttl","metadata"]);return{...address,contentType,visibility:parseVisibility(visibility),metadata:parseMetadata(metadata),ttlSeconds:parseTtlParameter(ttl,nowMs),condition:parseWriteCondition(headers,"PUT"),sha256,bytes,bytesMax:fileBytesMax}};var respondRecordOf=(exchange,file)=>respondVersion(exchange,fileJson(file,permanentUrl(file,exchange.baseUrl)),file.updatedAtMs);var fileHandlers={async putFile(exchange){const{headers,url}=exchange.request;const input=readUploadHead(headers,url,fileAddressOf(exchange),exchange.nowMs);return respondRecordOf(exchange,await exchange.uploads.receive(exchange,input))},getFile(exchange){const address=fileAddressOf(exchange);const{headers,url}=exchange.request;const{record}=parseParameters(url,["record"]);const{access,nowMs}=exchange;if(!parseFlagParameter(record,"record")){const place=requirePlace(access);return andThen(requireFile(access,address,nowMs),(file)=>respondFile(exchange,file,place,{cacheControl:"private, no-cache"}))}refuseIfMatchOnRead(headers);return andThen(requireFile(access,address,nowMs),(file)=>matchesIfNoneMatch(headers,file.updatedAtMs)?respondNotModified(exchange.requestId,file.updatedAtMs):respondRecordOf(exchange,file))},async changeFile(exchange){const address=fileAddressOf(exchange);const{headers,url}=exchange.request;const text=await exchange.readBody(plainBodyBytesMax);const changes=parseChangeBody(text,exchange.nowMs);parseParameters(url,[]);const input={...address,changes,condition:parseWriteCondition(headers,"PATCH")};return respondRecordOf(exchange,await changeFile(exchange.access,input,exchange.nowMs))},async deleteFile(exchange){const address=fileAddressOf(exchange);const{headers,url}=exchange.request;refuseBody(headers);parseParameters(url,[]);const input={...address,condition:parseWriteCondition(headers,"DELETE")};const deleted=await deleteFile(exchange.access,input,exchange.nowMs);return respondText(exchange.requestId,JSON.stringify({deleted}))},async getFileUrl(exchange){const{db,bucket}=parseBucketAddress(exchange.params.db,exchange.params.bucket);const text=await exchange.readBody(plainBodyBytesMax);const input=parseFileUrl(text,db,bucket,exchange.nowMs);refuseExtras(exchange);const url=await getFileUrl(exchange.access,input,exchange.nowMs);return respondText(exchange.requestId,fileUrlJson(url,exchange.baseUrl))},async queryFiles(exchange){const address=parseBucketAddress(exchange.params.db,exchange.params.bucket);const query=parseFileQuery(await readMembers(exchange,true));refuseExtras(exchange);const{access,nowMs,baseUrl}=exchange;const present=presentListed(access,nowMs,baseUrl);const page=await queryFiles(access,{...address,query},nowMs,present,(steps)=>exchange.runSteps(steps));return respondLongText(exchange,filePageJson(page))}};init_limits();var sendChunks=(answer,pieceBytes,hold,release)=>{const source=answer.chunks[Symbol.asyncIterator]();let chunk=new Uint8Array;let at=0;let sentBytes=0;let isOver=false;const end=()=>{isOver=true;release();answer.onEnd()};const nextChunk=async()=>{await answer.turn();const{value,done}=await source.next();if(done===true){if(answer.bytes!==undefined&&sentBytes!==answer.bytes)throw new Error(wrongLength(sentBytes,answer.bytes));return false}if(answer.bytes!==undefined&&sentBytes+value.length>answer.bytes){throw new Error(wrongLength(sentBytes+value.length,answer.bytes))}if(!isOver)hold(value.length);chunk=value;at=0;return true};const pull=async(controller)=>{try{answer.onWaiting();while(at===chunk.length){if(await nextChunk())continue;if(isOver)return;end();controller.close();return}if(isOver)return;const piece=chunk.subarray(at,at+pieceBytes);at+=piece.length;sentBytes+=piece.length;answer.onSending();controller.enqueue(piece)}catch(error){if(isOver)return;end();answer.onFault(error);stopSource(source);controller.error(undefined)}};const cancel=()=>{if(isOver)return;end();stopSource(source)};return new ReadableStream({pull,cancel},{highWaterMark:0})};var stopSource=(source)=>{source.return?.().catch(()=>{})};var discardChunks=(chunks)=>stopSource(chunks[Symbol.asyncIterator]());var wrongLength=(bytes,declaredBytes)=>`the answer has ${bytes} bytes so far; ${declaredBytes} were declared`;var causeOf=(error)=>error instanceof Error?error.stack??error.message:String(error);init_errors();init_limits();init_blob_place();var wholeFileBytesMax=1024*1024;var countedFromBytes=32*1024;var damaged=()=>new CubbyError2("store_damaged","The bytes of this file are missing; its record is not.",{hint:"Put the file again, or restore a backup. Other files are served. For the operator: cubby verify lists what is missing."});var missing=({log},{requestId},{place,blob})=>{log("error","the bytes of a file are missing",{requestId,blob,place:place.description});return damaged()};var openBytes=async(sending,reader,stored)=>{try{return await stored.place.read(stored.blob,stored.start,stored.end)}catch(error){throw error instanceof BlobMissing?missing(sending,reader,stored):error}};var collect=async(chunks,bytes)=>{const whole=new Uint8Array(bytes);let at=0;for await(const chunk of chunks){if(at+chunk.length>bytes)return;whole.set(chunk,at);at+=chunk.length}return at===bytes?whole:undefined};var collectBytes=async(sending,reader,stored)=>{const whole=await collect(await openBytes(sending,reader,stored),stored.end-stored.start);if(whole===undefined)throw missing(sending,reader,stored);return whole};var withRoom=async(release,work)=>{try{return await work()}finally{release()}};var roomFor=({answers,answerEnds},reader,bytes)=>{const room=answers.takeRoom(reader,bytes);if(room!==undefined)return room;answerEnds.look();return answers.takeRoom(reader,bytes)};var fileBody=async(sending,reader,stored)=>{const{request,requestId}=reader;const{answers,answerEnds,log}=sending;const bytes=stored.end-stored.start;if(request.method==="HEAD")return null;if(bytes===0)return new Uint8Array;const setIdle=(seconds)=>sending.setIdleTimeout(request,seconds);if(bytes<countedFromBytes)return collectBytes(sending,reader,stored);const release=bytes<=wholeFileBytesMax?roomFor(sending,reader,bytes):undefined;if(release!==undefined){try{const whole=await collectBytes(sending,reader,stored);setIdle(fileIdleMsMax/1000);answerEnds.watch(request,release);return whole}catch(error){release();throw error}}const chunks=await withRoom(answers.takePiece(reader),()=>openBytes(sending,reader,stored));const waitForUs=()=>setIdle(connectionIdleSecondsMax);const answer={chunks,bytes,turn:()=>reader.turn(),onWaiting:waitForUs,onSending:()=>setIdle(fileIdleMsMax/1000),onEnd:waitForUs,onFault:(error)=>log("error","answer cut off",{requestId,cause:causeOf(error)})};return answers.streamFrom(reader,answer,false)};init_errors();init_limits();var freeChunk=({buffer,byteLength})=>{if(buffer instanceof ArrayBuffer&&buffer.byteLength===byteLength)buffer.transfer(0)};var lookEveryMs2=1000;var heldBytesMax=512*1024;class ChunkedBody{#reader;#joined=new Pieces;#pieces=0;#bytes=0;#isReading=false;#isEnd=false;#fault;#wake;#onSmall;#fine=Promise.withResolvers();constructor(body){this.#reader=body.getReader();this.#read()}get whenTooFine(){return this.#fine.promise}async drop(){if(!this.#isSmall){const small=new Promise((resolve)=>{this.#onSmall=resolve});await Promise.race([afterSockets(),small])}this.cancel();return this.#isSmall}get#isSmall(){return isSmall(this.#pieces,this.#bytes)}async next(){if(this.#joined.length===0&&!this.#isEnd&&this.#fault===undefined){await new Promise((resolve)=>{this.#wake=resolve})}if(this.#fault!==undefined)throw this.#fault;if(this.#joined.length===0)return;const bytes=this.#joined.all();this.#joined=new Pieces;if(!this.#isEnd&&!this.#isReading)this.#read();return bytes}cancel(){this.#isEnd=true;this.#reader.cancel().catch(()=>{})}#read(){this.#isReading=true;this.#reader.read().then(this.#onPiece,this.#onFault)}#onPiece=({value,done})=>{this.#isReading=false;if(done)this.#isEnd=true;if(!this.#isEnd){this.#joined.push(value);this.#pieces++;this.#bytes+=value.length;if(isTooFine(this.#pieces,this.#bytes)){this.#fault=tooFine();this.#fine.resolve();this.cancel()}else if(this.#joined.length<heldBytesMax)this.#read()}if(this.#isSmall)this.#onSmall?.();this.#wake?.()};#onFault=()=>{this.#isReading=false;if(!this.#isEnd)this.#fault=cutShort();this.#wake?.()}}var afterSockets=()=>new Promise((resolve)=>setImmediate(()=>setImmediate(resolve)));class UploadBodies{#deadlines;#fineChunks;constructor(fineChunks,idleMsMax=fileIdleMsMax){this.#fineChunks=fineChunks;this.#deadlines=new Deadlines(idleMsMax,Math.min(lookEveryMs2,idleMsMax))}stop(){this.#deadlines.stop()}async*pieces(request,chunked){if(chunked!==undefined)yield*this.#piecesOf(chunked);else if(request.body!==null)yield*this.#each(request.body.getReader())}async*#each(reader){let isComplete=false;try{for(;;){const{value,done}=await this.#inTime(reader.read());if(done){isComplete=true;return}yield value;freeChunk(value)}}finally{if(!isComplete)reader.cancel().catch(()=>{})}}async*#piecesOf(chunked){for(;;){const piece=await this.#inTime(chunked.next());if(piece===undefined)return;yield piece;freeChunk(piece)}}async run(chunked,keySeq,handler){if(this.#fineChunks.isPaused(keySeq))throw paused();const refusal=chunked.whenTooFine.then(()=>{this.#fineChunks.pause(keySeq);throw tooFine()});const answer=(async()=>handler())();answer.catch(()=>{});refusal.catch(()=>{});return Promise.race([answer,refusal])}#inTime(read){return new Promise((resolve,reject)=>{const reading={startedAtMs:performance.now(),expire:()=>reject(uploadStalled())};this.#deadlines.add(reading);read.then((result)=>{this.#deadlines.remove(reading);resolve(result)},(error)=>{this.#deadlines.remove(reading);reject(error instanceof CubbyError2?error:cutShort())})})}}class RequestExchange{request;params;requestId;route;shared;access;nowMs=0;heldBytes=0;isAdmitted=false;#chunked;constructor(request,params,requestId,route,shared){this.request=request;this.params=params;this.requestId=requestId;this.route=route;this.shared=shared;const isChunked=route.body==="upload"&&request.headers.has("transfer-encoding");if(isChunked&&request.body!==null)this.#chunked=new ChunkedBody(request.body)}get keyNeeded(){return this.route.keyNeeded}get orgId(){return this.access.apiKey.orgId}get keySeq(){return this.access.apiKey.seq}authenticate(){return this.shared.authenticator.authenticate(this)}async readBody(bytesMax){const{bodies,turns}=this.shared;const text=await bodies.read(this.request,bytesMax,this);if(!turns.isFree)await turns.wait(this.orgId,this.keySeq);turns.begin(this.orgId,this.keySeq,true);await this.authenticate();return text}readStream(bytesMax){return this.#inTurns(this.shared.bodies.stream(this.request,bytesMax,this))}readUpload(){return this.#inTurns(this.shared.uploadBodies.pieces(this.request,this.#chunked))}run(){const{route,shared}=this;if(this.#chunked===undefined)return route.handler(this);return shared.uploadBodies.run(this.#chunked,this.keySeq,()=>route.handler(this))}async leaveUpload(response){if(this.#chunked===undefined)return response;if(response.headers.get("connection")==="close")this.#chunked.cancel();else if(await this.#chunked.drop())response.headers.set("Connection","close");return response}async withoutIdleTimeout(work){const{request,shared}=this;shared.setIdleTimeout(request,0);try{return await work()}finally{shared.setIdleTimeout(request,connectionIdleSecondsMax)}}now(){return this.shared.now()}get uploads(){return this.shared.uploads}get baseUrl(){return this.shared.baseUrlOf(this.request)}async*#inTurns(chunks){for await(const chunk of chunks){await this.turn();yield chunk}await this.turn();await this.authenticate()}async turn(){const{turns}=this.shared;if(!turns.isFree)await turns.wait(this.orgId,this.keySeq);turns.begin(this.orgId,this.keySeq,true)}runSteps(steps){const{turns}=this.shared;while(turns.isFree){const step=steps.next();if(step.done===true)return step.value;turns.begin(this.orgId,this.keySeq,true)}return this.#runInTurns(steps)}async#runInTurns(steps){for(;;){await this.turn();const step=steps.next();if(step.done===true)return step.value}}bodyOf(text){const{request,shared}=this;if(request.method==="HEAD")return text;const stream=shared.answers.stream(this,text,this.keyNeeded==="read",()=>shared.setIdleTimeout(request,connectionIdleSecondsMax));if(stream===undefined)return text;shared.setIdleTimeout(request,answerIdleSecondsMax);return stream}streamOf(chunks,bytes){const{request,requestId,shared}=this;if(request.method==="HEAD"){discardChunks(chunks);return bytes===undefined?new ReadableStream:null}const waitForUs=()=>shared.setIdleTimeout(request,connectionIdleSecondsMax);const answer={chunks,bytes,turn:()=>this.turn(),onWaiting:waitForUs,onSending:()=>shared.setIdleTimeout(request,answerIdleSecondsMax),onEnd:waitForUs,onFault:(error)=>shared.log("error","answer cut off",{requestId,cause:causeOf(error)})};return shared.answers.streamFrom(this,answer,this.keyNeeded==="read")}fileBodyOf(stored){return fileBody(this.shared,this,stored)}}var bucketPath2="/files/:bucketId";var doorPath=`${bucketPath2}/:name`;var doorPaths=[doorPath,...longNamePaths(bucketPath2)];var noFile=()=>new CubbyError2("file_not_found","There is no file at this URL.",{hint:"A private file needs a signed URL; whoever has a secret key of the service can make one."});var invalid2=()=>new CubbyError2("invalid_signature","The signature is not valid for this request.",{hint:"Use the URL exactly as it was given, with its method, without changed or added parameters."});var expired=()=>new CubbyError2("expired_url","The URL has expired.",{hint:"Ask for a new one where this one came from. New ones are made by POST /v1/:db/_buckets/:bucket/url."});var nameTaken=({message})=>new CubbyError2("precondition_failed",message,{hint:'This URL creates a file and does not replace one. Ask for a URL of another name, or for one made with "replace": true.'});var parametersOf=(url)=>{const start=url.indexOf("?");return start<0?[]:[...new URLSearchParams(url.slice(start+1))]};class DoorExchange extends RequestExchange{name;parameters;bucket;signed;place;engine;#apiKey;constructor(request,params,requestId,route,shared,{engine,place}){super(request,params,requestId,route,shared);this.engine=engine;this.place=place;this.name=fileNameOf(this);this.parameters=parametersOf(request.url)}get orgId(){return this.bucket.orgId}get keySeq(){return this.#apiKey?.seq??0}authenticate(){const isHead=this.nowMs===0;this.nowMs=this.now();if(!isSigned(this.parameters)){if(this.keyNeeded!=="read")throw noFile();return this.#findBucket()}this.signed??=this.#judgeSignature();return andThen(this.engine.apiKeys.findById(this.signed.keyId),(apiKey)=>{if(apiKey===undefined)throw invalid2();if(apiKey.revokedAtMs!==null)throw revoked();const isOver=(ms)=>ms!==null&&ms<=this.nowMs;if(isOver(apiKey.expiresAtMs)||isHead&&isOver(this.signed.expiresAtMs))throw expired();this.#apiKey=apiKey;this.access={engine:this.engine,apiKey,place:this.place};return andThen(this.#findBucket(),()=>{if(this.bucket.orgId!==apiKey.orgId)throw noFile();authorize(apiKey,this.keyNeeded,this.bucket.db)})})}#judgeSignature(){const method=this.request.method==="PUT"?"PUT":"GET";const target={method,bucketId:this.params.bucketId,name:this.name};const signed=readSigned(this.engine.urlKey,target,this.parameters);if(signed===undefined)throw invalid2();return signed}#findBucket(){const{bucketId}=this.params;if(!isBucketId(bucketId))throw noFile();return andThen(this.engine.buckets.findById(bucketId),(bucket)=>{if(bucket===undefined)throw noFile();this.bucket=bucket})}}var parameter=(parameters,name)=>parameters.find(([one])=>one===name)?.[1];var downloadOf=(parameters)=>{const value=parameter(parameters,"download");if(value===undefined)return;return value===""||value.length>downloadNameCharactersMax?true:value};var readByUrl=async(exchange)=>{const{engine,bucket,name,nowMs,keySeq,parameters,signed}=exchange;const place=requirePlace(exchange);const file=await readFile({engine,apiKey:{seq:keySeq}},bucket,name,nowMs);if(file===undefined||signed===undefined&&file.content.visibility==="private")throw noFile();const isCurrent=parameter(parameters,"v")===String(file.updatedAtMs);const permanent=isCurrent?"public, max-age=31536000, immutable":"public, no-cache";const cacheControl=signed===undefined?permanent:"private, no-cache";return respondFile(exchange,file,place,{cacheControl,download:downloadOf(parameters)})};var refuseConditions2=(headers)=>{for(const header of["If-Match","If-None-Match"]){if(!headers.has(header))continue;throw new CubbyError2("invalid_request",`${header} is not allowed on a signed upload.`,{field:header,hint:'The URL itself says whether it may replace a file: "replace" when it is made.'})}};var isOther=(header,contentType)=>saysType(header)&&!isSameType(header,contentType);var readSignedUpload=({request,bucket,name,nowMs,signed})=>{const{headers}=request;refuseConditions2(headers);const{options}=signed;const head=readUploadHead(headers,"",{db:bucket.db,bucket:bucket.name,name},nowMs);const contentType=options.get("contentType");if(contentType!==undefined&&isOther(headers.get("content-type"),contentType)){throw new CubbyError2("unsupported_media_type",`This URL takes files of the type ${contentType} only.`,{field:"Content-Type",hint:`Send "Content-Type: ${contentType}".`})}const bytesMax=Number(options.get("sizeMax")??fileBytesMax);if(head.bytes!==undefined&&head.bytes>bytesMax)throw fileTooLarge(bytesMax);const ttl=options.get("ttl");return{...head,bucketId:bucket.publicId,contentType:contentType??head.contentType,visibility:options.get("visibility")??"private",metadata:options.get("metadata")??noMetadata,ttlSeconds:ttl===undefined?null:Number(ttl),condition:options.get("replace")==="true"?undefined:"absent",bytesMax}};var putByUrl=async(exchange)=>{try{const stored=await exchange.uploads.receive(exchange,readSignedUpload(exchange));return respondRecordOf(exchange,stored)}catch(error){if(error instanceof CubbyError2&&error.code==="bucket_not_found")throw noFile();if(error instanceof CubbyError2&&error.code==="precondition_failed")throw nameTaken(error);throw error}};var doorRoutes={GET:{operationId:"readFileByUrl",keyNeeded:"read",waits:true,handler:(exchange)=>readByUrl(exchange)},PUT:{operationId:"putFileByUrl",keyNeeded:"write",body:"upload",handler:(exchange)=>putByUrl(exchange)}};var apiKeyHandlers={async createApiKey(exchange){const members=await readMembers(exchange);refuseExtras(exchange);const{access,nowMs}=exchange;const made=await createApiKey(access,parseCreateApiKey(members,nowMs),nowMs);return respondText(exchange.requestId,createApiKeyOperation.present(made,nowMs),201)},async listApiKeys(exchange){const page=await listApiKeys(exchange.access,readListing(exchange));return respondLongText(exchange,listApiKeysOperation.present(page,exchange.nowMs))},async describeOwnApiKey(exchange){refuseExtras(exchange);const own=await describeOwnApiKey(exchange.access);return respondText(exchange.requestId,describeOwnApiKeyOperation.present(own,exchange.nowMs))},async revokeApiKey(exchange){const id=keyOf(exchange,"id");refuseBody(exchange.request.headers);refuseExtras(exchange);const{access,nowMs}=exchange;return respondText(exchange.requestId,revokeApiKeyOperation.present(await revokeApiKey(access,{id},nowMs),nowMs))}};var bucketHandlers={async listBuckets(exchange){const page=await listBuckets(exchange.access,readListOfDatabase(exchange),exchange.nowMs);return respondLongText(exchange,listBucketsOperation.present(page,exchange.nowMs))},async describeBucket(exchange){const address=bucketAddressOf(exchange);refuseExtras(exchange);return respondText(exchange.requestId,bucketJson(await describeBucket(exchange.access,address,exchange.nowMs)))},async createBucket(exchange){const address=bucketAddressOf(exchange);refuseUnknownMembers(await readMembers(exchange,true),[]);refuseExtras(exchange);const result=await createBucket(exchange.access,address,exchange.nowMs);const text=createBucketOperation.present(result,exchange.nowMs);return respondText(exchange.requestId,text,result.created?201:200)},async deleteBucket(exchange){const address=bucketAddressOf(exchange);refuseBody(exchange.request.headers);refuseExtras(exchange);return respondText(exchange.requestId,bucketJson(await deleteBucket(exchange.access,address,exchange.nowMs)))},async restoreBucket(exchange){const address=bucketAddressOf(exchange);const deletedAtMs=parseRestoreBucket(await readMembers(exchange,true));refuseExtras(exchange);const bucket=await restoreBucket(exchange.access,{...address,deletedAtMs},exchange.nowMs);return respondText(exchange.requestId,bucketJson(bucket))}};init_limits();var namesOf=(exchange)=>({...parseCollection(exchange.params.collection),hashKey:keyOf(exchange,"id")});var itemHandlers={getItem(exchange){const names=namesOf(exchange);const{headers,url}=exchange.request;const{rangeKey}=parseParameters(url,["rangeKey"]);const input={...names,rangeKey:rangeKeyIn(url,rangeKey)};refuseIfMatchOnRead(headers);return andThen(getItem(exchange.access,input,exchange.nowMs),(record)=>matchesIfNoneMatch(headers,record.updatedAtMs)?respondNotModified(exchange.requestId,record.updatedAtMs):respondDocument(exchange,record))},async putItem(exchange){const names=namesOf(exchange);const{headers,url}=exchange.request;const document=parseDocument(await exchange.readBody(bodyBytesMax));const{rangeKey,ttl}=parseParameters(url,["rangeKey","ttl"]);const ttlSeconds=parseTtl(parseIntegerParameter(ttl),"ttl",exchange.nowMs);const condition=parseWriteCondition(headers,"PUT");const input={...names,rangeKey:rangeKeyIn(url,rangeKey),...document,ttlSeconds,condition};const stored=await putRecord(exchange.access,input,exchange.nowMs);return wantsMinimal(headers)?respondWritten(exchange.requestId,stored):respondDocument(exchange,stored)},async deleteItem(exchange){const names=namesOf(exchange);const{headers,url}=exchange.request;refuseBody(headers);const{rangeKey}=parseParameters(url,["rangeKey"]);const condition=parseWriteCondition(headers,"DELETE");const input={...names,rangeKey:rangeKeyIn(url,rangeKey),condition};const deleted=await deleteRecord(exchange.access,input,exchange.nowMs);return respondText(exchange.requestId,JSON.stringify({deleted}))}};init_limits();init_names();init_record_key();var recordOf=(exchange)=>{const{params}=exchange;return{db:parseName(params.db,"db"),table:parseName(params.table,"table"),hashKey:keyOf(exchange,"hashKey"),rangeKey:params.rangeKey===undefined?noRangeKey:keyOf(exchange,"rangeKey")}};var recordHandlers={async putRecord(exchange){const db=parseName(exchange.params.db,"db");const table=parseName(exchange.params.table,"table");const{headers,url}=exchange.request;const record=parsePut(await exchange.readBody(bodyBytesMax),exchange.nowMs);parseParameters(url,[]);const condition=parseWriteCondition(headers,"PUT");const{hashKey,rangeKey,data,ttlSeconds,built}=record;const input={db,table,hashKey,rangeKey,data,ttlSeconds,built,condition};const stored=await putRecord(exchange.access,input,exchange.nowMs);return wantsMinimal(headers)?respondMinimal(exchange.requestId,stored):respondRecord(exchange,stored)},getRecord(exchange){const input=recordOf(exchange);const{headers,url}=exchange.request;parseParameters(url,[]);refuseIfMatchOnRead(headers);return andThen(findRecord(exchange.access,input,exchange.nowMs),(record)=>{if(record===undefined)throw recordNotFound(input);return matchesIfNoneMatch(headers,record.updatedAtMs)?respondNotModified(exchange.requestId,record.updatedAtMs):respondRecord(exchange,record)})},async deleteRecord(exchange){const{db,table,hashKey,rangeKey}=recordOf(exchange);const{headers,url}=exchange.request;refuseBody(headers);parseParameters(url,[]);const condition=parseWriteCondition(headers,"DELETE");const input={db,table,hashKey,rangeKey,condition};const deleted=await deleteRecord(exchange.access,input,exchange.nowMs);return respondText(exchange.requestId,JSON.stringify({deleted}))},async queryRecords(exchange){const db=parseName(exchange.params.db,"db");const table=parseName(exchange.params.table,"table");const members=await readMembers(exchange);refuseExtras(exchange);const input={db,table,query:parseQuery(members)};return respondLongText(exchange,queryPageJson(await queryRecords(exchange.access,input,exchange.nowMs)))},async findRecords(exchange){const{db,table}=addressOf(exchange);const text=await exchange.readBody(bodyBytesMax);const keys=await exchange.runSteps(parseFindInSteps(text));refuseExtras(exchange);const found=await findRecords(exchange.access,{db,table,keys},exchange.nowMs);return respondLongText(exchange,presentFound(found))},async applyBatch(exchange){const{db,table}=addressOf(exchange);const text=await exchange.readBody(batchBodyBytesMax);const operations=await exchange.runSteps(parseBatchInSteps(text,exchange.nowMs));refuseExtras(exchange);const{access,nowMs}=exchange;const count=await applyBatch(access,{db,table,operations},nowMs,(steps)=>exchange.runSteps(steps));return respondText(exchange.requestId,JSON.stringify({count}))}};var tableHandlers={async listDatabases(exchange){const page=await listDatabases(exchange.access,readListing(exchange));return respondLongText(exchange,listDatabasesOperation.present(page,exchange.nowMs))},async listTables(exchange){const page=await listTables(exchange.access,readListOfDatabase(exchange),exchange.nowMs);return respondLongText(exchange,listTablesOperation.present(page,exchange.nowMs))},async describeTable(exchange){const address=addressOf(exchange);refuseExtras(exchange);return respondText(exchange.requestId,tableJson(await describeTable(exchange.access,address,exchange.nowMs)))},async createTable(exchange){const address=addressOf(exchange);const indices=parseCreateTable(await readMembers(exchange,true));refuseExtras(exchange);const result=await createTable(exchange.access,{...address,indices},exchange.nowMs);const text=createTableOperation.present(result,exchange.nowMs);return respondText(exchange.requestId,text,result.created?201:200)},async deleteTable(exchange){const address=addressOf(exchange);refuseBody(exchange.request.headers);refuseExtras(exchange);return respondText(exchange.requestId,tableJson(await deleteTable(exchange.access,address,exchange.nowMs)))},async restoreTable(exchange){const address=addressOf(exchange);const deletedAtMs=parseRestoreTable(await readMembers(exchange,true));refuseExtras(exchange);const table=await restoreTable(exchange.access,{...address,deletedAtMs},exchange.nowMs);return respondText(exchange.requestId,tableJson(table))}};var handlers={...tableHandlers,...recordHandlers,...itemHandlers,...bucketHandlers,...fileHandlers,...apiKeyHandlers};var pathTable=()=>{const table={};for(const operationId of Object.keys(operationRoutes)){const{operation,method,paths,...more}=operationRoutes[operationId];const{keyNeeded}=operation;const route={operationId,keyNeeded,body:"bytes"in more?"upload":("body"in more)?"text":undefined,handler:handlers[operationId]};for(const path of paths){table[path]??={};table[path][method]=route}}return table};var routes=pathTable();var servedRoutes={...withFilePaths(routes),"/api/keys/self":{...routes["/api/keys/:id"],...routes["/api/keys/self"]}};var openRoutes={"/":"getEntryPoint","/healthz":"checkHealth","/readyz":"checkReadiness","/openapi.json":"getDescription","/docs":"getDocsPage"};var allowedMethods2=(methods)=>{const names=Object.keys(methods);if(names.includes("GET"))names.push("HEAD");return[...names,"OPTIONS"].sort().join(", ")};var tableCreatedAt=1767225600000;var firstOrderAt=1767607200000;var secondOrderAt=1767693600000;var draftAt=1767697200000;var laterAt=1767780000000;var tableDeletedAt=1767312000000;var indices={i1:{hashField:"status",rangeField:"placedAt"}};var inOrders={db:"app",table:"orders"};var orders={...inOrders,indices,status:"active",createdAt:tableCreatedAt};var deletedOrders={...orders,status:"deleted",deletedAt:tableDeletedAt,recoverableUntil:tableDeletedAt+7*24*60*60*1000};var firstOrder={hashKey:"ada",rangeKey:"o-1",data:{status:"open",total:40,placedAt:"2026-01-05T10:00:00Z"}};var secondOrder={hashKey:"ada",rangeKey:"o-2",data:{status:"open",total:25,placedAt:"2026-01-06T10:00:00Z"}};var draft={hashKey:"draft",data:{total:0},ttl:4102444800};var putInOrders=(record,updatedAt)=>({operation:"putRecord",input:{...inOrders,...record},output:{...record,updatedAt}});var deleteOrders={operation:"deleteTable",input:inOrders,output:deletedOrders};var exampleStore=[{operation:"createTable",input:{...inOrders,indices},output:orders},putInOrders(firstOrder,firstOrderAt),putInOrders(secondOrder,secondOrderAt),putInOrders(draft,draftAt)];init_limits();var meanings={invalid_json:"The body is not JSON in UTF-8.",invalid_request:"A field, query parameter, header or body is unknown, sent twice, missing or of the wrong type.",invalid_name:"The name of a database or table does not match `[a-z0-9_-]{1,64}`, or a collection has more than one dot.",reserved_name:"The name of a database or table starts with `_`.",invalid_key:"A record key or id is missing, empty, too long or malformed, or it is exactly `.` or `..`.",invalid_index:"The declaration of an index is malformed.",invalid_index_value:"An indexed field, or the hash of a query, is not a string, number or boolean that can be indexed.",index_not_declared:"The table declares no such index.",invalid_range:"The range is not one operator with a valid operand, or the index has no range field.",invalid_cursor:"The cursor cannot be read or belongs to another request.",invalid_ttl:"`ttl` is not an integer of epoch seconds, or is more than a day in the past.",batch_too_large:`The batch has more than ${batchOperationsMax} operations, or the find more than ${findKeysMax} keys.`,batch_duplicate_keys:"Two operations of a batch, or two keys of a find, name the same record.",digest_mismatch:"The bytes of the upload do not match `Content-Digest`. Nothing was stored.",missing_api_key:"There is no `Authorization` header.",invalid_api_key:"The API key is unknown or malformed.",expired_api_key:"The API key has expired.",revoked_api_key:"The API key has been revoked.",read_only_key:"A public key only reads records, tables and public files.",key_scope:"The API key is limited to other databases, or it is limited and the request manages keys.",secret_key_in_browser:"A web page from another origin sent a secret key.",private_file:"The file is private, and a public key reads only public files.",invalid_signature:"The URL is not signed, or it was changed after it was signed.",expired_url:"The signed URL has expired, or the API key that signed it.",route_not_found:"No route has this path: a segment is empty, or there is a trailing slash.",table_not_found:"There is no such table. The hint shows the call that creates or restores it.",record_not_found:"There is no such record, or it has expired.",key_not_found:"The organization has no API key with that id.",bucket_not_found:"There is no such bucket. The hint shows the call that creates or restores it.",file_not_found:"There is no such file, or it has expired.",method_not_allowed:"The path exists, but does not support this method.",table_exists:"A table with that name exists: it has other indices, or a restore needs its name.",bucket_exists:"A bucket with that name exists, and a restore needs its name.",precondition_failed:"The condition does not hold; nothing was changed.",record_too_large:`\`data\` has more than ${dataBytesMax.toLocaleString("en-US")} bytes of JSON.`,body_too_large:"The body is larger than this request allows.",file_too_large:`The file has more than ${fileBytesMax.toLocaleString("en-US")} bytes, or more than its signed URL allows.`,unsupported_media_type:"The body is not declared as JSON, or it is compressed.",range_not_satisfiable:"The range lies outside the file. `Content-Range` has its size.",internal:"The server failed; the request is not the cause.",store_damaged:"Part of the store on the disk is damaged, and this request needs it. Nothing was applied; the operator restores a backup.",outcome_unknown:"The write may or may not have been applied: read before repeating it.",unavailable:"The server cannot accept this request now. Nothing was applied: repeat it after `Retry-After`.",storage_full:"The store has no free space. Nothing was applied."};var accessCodes=(keyNeeded,namesDatabase)=>["missing_api_key","invalid_api_key","expired_api_key","revoked_api_key",...keyNeeded==="read"?[]:["read_only_key"],...namesDatabase||keyNeeded==="manage-keys"?["key_scope"]:[],"secret_key_in_browser"];var bodyCodes=["invalid_json","body_too_large","unsupported_media_type"];var errorBody=(code,{message,field,hint})=>({error:{code,message,...field&&{field},...hint&&{hint},requestId:"HJ4c9fQ2-1z"}});var sharedErrors={invalid_json:{message:"The body is not valid JSON: Expected '}'.",hint:"Send one JSON value in UTF-8."},invalid_request:{message:"pretty is not a query parameter of this request.",field:"pretty",hint:"It takes none."},invalid_name:{message:'db is "Shop"; a name matches [a-z0-9_-]{1,64}.',field:"db",hint:'Use 1 to 64 lower-case letters, digits, "_" or "-".'},reserved_name:{message:'db is "_shop"; names that start with "_" are reserved.',field:"db",hint:'Drop the leading "_": "shop".'},invalid_key:{message:"hashKey has a percent-escape that is malformed or not UTF-8.",field:"hashKey",hint:"Percent-encode the UTF-8 bytes of the key once, as encodeURIComponent does."},invalid_ttl:{message:"ttl is 4102444800000; it takes epoch seconds, an integer from 0 to 253402300799.",field:"ttl",hint:"It looks like milliseconds; give seconds: 4102444800."},invalid_cursor:{message:"cursor cannot be read.",field:"cursor",hint:"Send the cursor of the previous answer with an otherwise identical request, or leave it out for the first page."},missing_api_key:{message:"The request carries no API key.",hint:'Send the header "Authorization: Bearer <API key>". The API is documented at /docs.'},invalid_api_key:{message:"The API key is malformed.",hint:'Send "Authorization: Bearer svc_live_\u2026" or "svc_pub_\u2026". The API is documented at /docs.'},expired_api_key:{message:"The API key expired at 2026-01-05T10:00:00.000Z.",hint:"Create another key: POST /api/keys. The API is documented at /docs."},revoked_api_key:{message:"The API key has been revoked.",hint:"Use another key; revocation is permanent."},read_only_key:{message:"A public key reads records, tables and public files; this request needs a secret key.",hint:"Send it from your server with a secret key (svc_live_\u2026)."},key_scope:{message:"The API key is limited to other databases.",hint:"It may use: blog."},secret_key_in_browser:{message:"A secret key was sent by a web page of another origin.",hint:"Use a public key (svc_pub_\u2026) in browsers, revoke this one, and keep secret keys on your server."},route_not_found:{message:"No route has this path.",hint:"Without the slash at its end: /v1/app. The API is documented at /docs."},table_not_found:{message:"There is no table invoices in database app.",hint:"Create it: POST /v1/app/invoices"},bucket_not_found:{message:"There is no bucket invoices in database app.",hint:"Create it: POST /v1/app/_buckets/invoices"},private_file:{message:"The file is private; a public key reads public files only.",hint:"Read it on your server with a secret key (svc_live_\u2026), or give the caller a signed URL."},invalid_signature:{message:"The signature is not valid for this request.",hint:"Use the URL exactly as it was given, with its method, without changed or added parameters."},expired_url:{message:"The URL has expired.",hint:"Ask for a new one where this one came from. New ones are made by POST /v1/:db/_buckets/:bucket/url."},digest_mismatch:{message:"The bytes that arrived have the SHA-256 2cf24dba5fb0a30e26e83b2ac5b9e29e1b161e5c1fa7425e73043362938b9824; Content-Digest declares 486ea46224d1bb4fb680f34f7c9ad96a8f24ec88be73ea8e5a6c65260e9cb8a7.",field:"Content-Digest",hint:"Nothing was stored. Send the file again with the digest of its bytes."},file_too_large:{message:`The file is larger than ${fileBytesMax} bytes.`,hint:"Split it into several files."},method_not_allowed:{message:"PATCH is not a method of this path.",hint:"A record is always written as a whole; records are written by PUT /v1/app/orders with hashKey in the body. This path takes DELETE, GET, HEAD, OPTIONS."},body_too_large:{message:`The body is larger than ${bodyBytesMax} bytes.`,hint:"Send less at once: several records in several requests."},record_too_large:{message:`data has ${dataBytesMax+1} bytes of JSON; it takes at most ${dataBytesMax}.`,field:"data",hint:"Split the record over several range keys."},batch_too_large:{message:`operations has ${batchOperationsMax+1} operations; a batch takes at most ${batchOperationsMax}.`,field:"operations",hint:`Send them in batches of ${batchOperationsMax}; each is atomic by itself.`},unsupported_media_type:{message:"The body is not declared as application/json.",hint:'Send "Content-Type: application/json".'},internal:{message:"The server failed to answer this request.",hint:"This is a fault of the server; its log has the cause under this requestId."},store_damaged:{message:"The store is damaged where this request reads or writes; nothing was applied.",hint:"The operator has to restore a backup; other records can still be read and written."},outcome_unknown:{message:"The commit failed; the write may or may not have been applied.",hint:"Read the record before repeating the request."},unavailable:{message:"Too many requests with this API key are in flight; nothing was applied.",hint:"Repeat the request after the time in Retry-After."},storage_full:{message:"The disk is full; nothing was applied.",hint:"Reads still work. Repeat the request once there is room."}};init_errors();var conditionHeader=(value)=>{if(value===null)return{"If-None-Match":"*"};return{"If-Match":value==="*"?"*":`"${value}"`}};var divide=(route,input)=>{const{paths,query=[],body:sent,bytes:inBody}=route;const inPathOrQuery=new Set([...paths.flatMap(pathParameters),...query]);const parameters={};const headers={};const body={};for(const[name,value]of Object.entries(input)){if(name==="ifUpdatedAt")Object.assign(headers,conditionHeader(value));else if(inBody!==undefined&&name==="contentType")headers["Content-Type"]=value;else if(inPathOrQuery.has(name))parameters[name]=asParameter(value);else if(name!==inBody)body[name]=value}const bytes=inBody===undefined?undefined:input[inBody];Object.assign(parameters,route.queryAlways);if(sent?.member!==undefined)return{parameters,headers,bytes,body:body[sent.member]};return{parameters,headers,bytes,body:Object.keys(body).length===0?undefined:body}};var asParameter=(value)=>typeof value==="object"?JSON.stringify(value):value;var givenStep=({operation,input,output})=>{const route=findRoute(operation);const{body,bytes,headers}=divide(route,input);return{method:route.method,path:targetFor({...route,queryAlways:undefined},input),...Object.keys(headers).length>0&&{headers},...body!==undefined&&{body},...bytes!==undefined&&{bytes},...output===undefined?{}:{answer:output}}};var withoutDefaults=({db,table,collection,bucket,name,...given})=>({...bucket===undefined||bucket==="avatars"?{}:{bucket},...name===undefined||name==="ada/small.png"?{}:{name},...db===undefined||db==="app"?{}:{db},...table===undefined||table==="orders"?{}:{table},...collection===undefined||collection==="app.orders"?{}:{collection},...given});var hintOver=({operation},input,{code,message,...more})=>{const params=input;const{hint}=withBetterHint(operation.id,params,new CubbyError2(code,message,more));return httpHint(hint,namesIn(params))};var toHttpExample=(route,{name,summary,given,input,output,version,error,unchanged},status,tagged)=>{const{parameters,headers,body,bytes}=divide(route,input);const own=withoutDefaults({...parameters,...headers});const tag=version??output?.updatedAt;return{name,summary,...given&&{given:given.map(givenStep)},...Object.keys(own).length>0&&{parameters:own},...body!==undefined&&{body},...bytes!==undefined&&{bytes},...error===undefined?{status:unchanged?status.unchanged:status.done,...tagged&&{headers:{ETag:`"${tag}"`}},answer:output}:{status:statusOf[error.code],answer:errorBody(error.code,{...error,hint:hintOver(route,input,error)})}}};init_limits();var binaryBytes=(bytes)=>{if(bytes<1048576)return`${bytes/1024} KiB`;return bytes<1073741824?`${bytes/1048576} MiB`:`${bytes/1073741824} GiB`};var introduction=`Cubby stores JSON records in tables, and files in buckets. Tables and buckets belong to a database, and a database belongs to the organization of the API key.

## Requests

Bodies are JSON in UTF-8, at most ${binaryBytes(plainBodyBytesMax)} (a put or a find: ${binaryBytes(bodyBytesMax)}, a batch: ${binaryBytes(batchBodyBytesMax)}); the body of an upload is the bytes of the file, at most ${binaryBytes(fileBytesMax)}. A body without a content type is read as JSON. Nothing is ignored: an unknown field or query parameter is rejected by name, and so is a condition on a request that does not support it.

Paths are matched exactly: an empty segment or a trailing slash is 404. Percent-encode each key in a path once. Some proxies decode \`%2F\`; if yours may do so, use \`find\` to read records whose keys contain \`/\`, and a batch to delete them.

\`ttl\` is in epoch seconds. Everything named \`\u2026At\`, and \`recoverableUntil\`, is in epoch milliseconds.

## API keys

Send \`Authorization: Bearer <API key>\`. A secret key (\`svc_live_\u2026\`) reads and writes and belongs on your server. A public key (\`svc_pub_\u2026\`) reads records, tables and public files and may be used in a web page. The key selects the organization. Data of another organization looks exactly like data that does not exist.

## Answers

Every request may have the header \`X-Request-Id\`, your own id for it. Every answer has one: yours, if it has 1 to ${requestIdCharactersMax} visible ASCII characters, otherwise a new one. The log and the body of an error contain it too. Clients may cache answers but must revalidate them (\`Cache-Control: private, no-cache\`).

Every path with GET also supports HEAD, which answers the same without the body. OPTIONS answers 204 on every path. Any other method on a known path is 405 with \`Allow\`.

Later versions may add fields and error codes; ignore those that you do not know. Under \`/v1\` nothing is removed or changes its meaning.

## Errors

All errors have one shape: \`error.code\`, \`message\` and \`requestId\`; \`field\` if one field is wrong; \`hint\` if there is a next step to suggest. Programs should decide by \`code\`; messages are for people and may change.

- A 4xx fails again until the request is changed. Only 431 has no body: the HTTP parser sends it if the request line and the headers are larger than ${binaryBytes(requestHeadBytesMax)} together.
- After 503 \`unavailable\` and 507 \`storage_full\` nothing was applied: the request may be repeated.
- After 500 \`store_damaged\` nothing was applied either; the request fails again until the operator has restored a backup.
- After 500 \`outcome_unknown\` the write may or may not have been applied: read the record first.

The server checks in this order: route and method, key, kind of key, scope, names, content type, size, JSON, fields, table, index values, conditions.

## Versions of a record

\`updatedAt\` strictly increases with every write while the record exists: it is the record's version and, in quotes, its \`ETag\`. Send it back in \`If-Match\`, or as \`ifUpdatedAt\` in a batch, to write only if the record has not changed since; otherwise the answer is 412 \`precondition_failed\` and nothing was changed.

## Files and their URLs

A file is uploaded and read below its bucket, with an API key. It also has URLs that need no key, \`/files/{bucket id}/{name}\`: a public file has a permanent one, the \`url\` of its record; every other URL is signed and expires. \`POST /v1/{db}/_buckets/{bucket}/url\` makes them. GET and HEAD on a URL read the file, with \`Range\`, \`If-None-Match\` and \`If-Match\`; the \`ETag\` of the bytes is their SHA-256. PUT on a URL that was signed for an upload writes the file.

The answers have headers that keep browsers from running what was uploaded: pictures, audio, video, PDF and plain text are shown, everything else is saved. An SVG shows in \`<img>\`.

## Browsers

Pages from every origin may read every answer, including errors. A secret key sent by a page from another origin is rejected with 403 \`secret_key_in_browser\`.

## Examples

Each example starts with a database \`app\` that has a table \`orders\`. The table declares the index \`i1\` by \`status\` and \`placedAt\`. It holds the orders \`o-1\` and \`o-2\` of \`ada\` and a record \`draft\`. Parameters, body and answer with the same example name belong together.
`;init_limits();var entry=(operation,described)=>({...operation,...described});init_limits();var objectOf=(description,required,properties)=>({type:"object",description,properties,...required.length===0?{}:{required}});var closed=(schema)=>({...schema,additionalProperties:false});var ref=(name)=>({$ref:`#/$defs/${name}`});var nullable=(type,more)=>({...more,type:[type,"null"]});var freeObject=(description)=>({type:"object",description,additionalProperties:true});var exactIntegers={format:"int64",minimum:Number.MIN_SAFE_INTEGER,maximum:Number.MAX_SAFE_INTEGER};var times={...exactIntegers,minimum:0};var milliseconds=(description)=>({type:"integer",...times,description:`${description} Epoch milliseconds.`});var number=(value)=>value.toLocaleString("en-US");var cursorText={pattern:"^[A-Za-z0-9_-]+$",maxLength:cursorCharactersMax};var nextCursor=nullable("string",{description:"Opaque. Send it back to get the next page. Null on the last page."});var inputOf=(request,beside,required=[])=>{if(request.oneOf!==undefined){const{oneOf,...rest}=request;return{type:"object",...rest,oneOf:oneOf.map((form)=>inputOf(form,beside,required))}}const all=[...required,...request.required??[]];return{type:"object",...request.description===undefined?{}:{description:request.description},properties:{...beside,...request.properties},...all.length===0?{}:{required:all},additionalProperties:false}};init_limits();init_indices();var indexField=(description)=>({type:"string",minLength:1,maxLength:indexFieldCharactersMax,description});var tableFields={db:ref("Name"),table:ref("Name"),indices:ref("Indices"),createdAt:milliseconds("When the table was created.")};var tableSchemas={Name:{type:"string",pattern:"^[a-z0-9-][a-z0-9_-]{0,63}$",minLength:1,maxLength:64,description:"A name matches `[a-z0-9_-]{1,64}`; names that start with `_` are reserved."},IndexDeclaration:closed(objectOf("An index over top-level fields of `data`.",["hashField"],{hashField:indexField("The field that a query compares with `hash`."),rangeField:indexField("The field that orders the records with the same hash.")})),Indices:{type:"object",description:"The declared indices by slot; `{}` if there are none. They cannot be changed later.",properties:Object.fromEntries(slots.map((slot)=>[slot,ref("IndexDeclaration")])),additionalProperties:false},CreateTableRequest:closed(objectOf("The properties of the new table.",[],{indices:ref("Indices")})),RestoreTableRequest:closed(objectOf("Which table to restore, if several with the same name were deleted.",[],{deletedAt:{...milliseconds("The `deletedAt` of the table; absent: the table deleted last."),...exactIntegers}})),ActiveTable:objectOf("A table.",["db","table","indices","status","createdAt"],{...tableFields,status:{type:"string",const:"active"}}),DeletedTable:objectOf("A deleted table that can be restored.",["db","table","indices","status","createdAt","deletedAt","recoverableUntil"],{...tableFields,status:{type:"string",const:"deleted"},deletedAt:milliseconds("When it was deleted."),recoverableUntil:milliseconds(`It can be restored until this time, ${recoveryMs/86400000} days after \`deletedAt\`.`)}),TableList:objectOf("Tables by name.",["tables","cursor"],{tables:{type:"array",items:{oneOf:[ref("ActiveTable"),ref("DeletedTable")]}},cursor:nextCursor}),DatabaseList:objectOf("Databases by name.",["databases","cursor"],{databases:{type:"array",items:ref("Name")},cursor:nextCursor})};var dbMember={db:{...ref("Name"),description:"The database, for example one per application. A database exists while it has a table or a bucket."}};var addressMembers={...dbMember,table:{...ref("Name"),description:"The table, for example one per kind of record."}};var addressRequired=["db","table"];var listingMembers={limit:{type:"integer",minimum:1,default:pageRowsDefault,description:`The maximum number of entries in a page. A value above ${number(pageRowsMax)} counts as ${number(pageRowsMax)}.`},cursor:{type:"string",...cursorText,description:"The `cursor` of the previous page."}};init_hint();var createdAt=1767398400000;var id="key_4fJ2mQ9sT7bXc1LwZr8a";var key3="svc_pub_EXAMPLEEXAMPLEEXAMPLEEXAMPLE000000wxyz";var masked2="svc_pub_****wxyz";var web={kind:"public",name:"web shop",databases:["app"],expiresAt:4102444800000};var createdWeb={id,kind:"public",name:"web shop",key:key3,masked:masked2,databases:["app"],createdAt,expiresAt:4102444800000};var listedWeb={id,kind:"public",name:"web shop",masked:masked2,databases:["app"],status:"active",createdAt,lastUsedAt:null,expiresAt:4102444800000,revokedAt:null};var createWeb={operation:"createApiKey",input:web,output:createdWeb};var createApiKey2=[{name:"secret",summary:"A secret key for all databases",input:{kind:"secret",name:"backend"},output:{id:"key_9dK1nR5tU3cYe7MxQs2b",kind:"secret",name:"backend",key:"svc_live_EXAMPLEEXAMPLEEXAMPLEEXAMPLE000000stuv",masked:"svc_live_****stuv",databases:null,createdAt,expiresAt:null}},{name:"limited",summary:"A public key for one database, until 2100",input:web,output:createdWeb},{name:"noSuchKind",summary:"An unknown kind",input:{kind:"admin"},error:{code:"invalid_request",message:'kind is "admin"; it takes "secret" or "public".',field:"kind",hint:"A public key reads, a secret key reads and writes."}},{name:"badName",summary:"An invalid database name",input:{kind:"public",databases:["App"]},error:{code:"invalid_name",message:'databases[0] is "App"; a name matches [a-z0-9_-]{1,64}.',field:"databases[0]",hint:'Use 1 to 64 lower-case letters, digits, "_" or "-".'}},{name:"reservedName",summary:"A reserved database name",input:{kind:"public",databases:["_app"]},error:{code:"reserved_name",message:'databases[0] is "_app"; names that start with "_" are reserved.',field:"databases[0]",hint:'Drop the leading "_": "app".'}}];var listApiKeys2=[{name:"newest",summary:"The newest key",given:[createWeb],input:{limit:1},output:{keys:[listedWeb],cursor:"AvIZPzwhifvURWu_-hqaGnMF2yENEwNSnxEh1SLlm6WyPPgqo83KTT046MtH"}}];var describeOwnApiKey2=[{name:"own",summary:"The key of this request",input:{},output:{id:"key_2cH8kP4rS6aWd0JvXn5y",kind:"secret",name:null,masked:"svc_live_****mnop",databases:null,status:"active",createdAt:1767139200000,lastUsedAt:1767398340000,expiresAt:null,revokedAt:null,organization:"default"}}];var revokeApiKey2=[{name:"revoke",summary:"Revoke a key",given:[createWeb],input:{id},output:{...listedWeb,status:"revoked",revokedAt:1767484800000}},{name:"unknown",summary:"No such key",input:{id:"key_00000000000000000000"},error:{code:"key_not_found",message:"The organization has no API key with that id.",hint:["Ids are listed by ",call("listApiKeys"),'; they start with "key_".']}}];init_limits();var keyFields={id:{type:"string",description:"Identifies the key, for example to revoke it."},kind:{type:"string",enum:["secret","public"]},name:nullable("string",{}),masked:{type:"string",description:"The prefix and the last four characters: `svc_live_****wxyz`."},databases:nullable("array",{items:ref("Name"),description:"The databases that the key may use; null: all."}),createdAt:milliseconds("When the key was created."),expiresAt:nullable("integer",{...times,description:"Epoch milliseconds, or null."})};var apiKeySchemas={CreateKeyRequest:closed(objectOf("The properties of the new key.",["kind"],{kind:{type:"string",enum:["secret","public"],description:"A public key reads; a secret key reads and writes."},name:nullable("string",{minLength:1,maxLength:keyNameCharactersMax,description:"A label for people."}),expiresAt:nullable("integer",{...times,description:"Epoch milliseconds, in the future."}),databases:nullable("array",{items:ref("Name"),minItems:1,maxItems:keyDatabasesMax,description:"The databases that the key may use; absent or null: all databases of the organization."})})),CreateKeyResponse:objectOf("A new key. `key` is shown only once.",["id","kind","name","key","masked","databases","createdAt","expiresAt"],{...keyFields,key:{type:"string",pattern:"^svc_(live|pub)_[0-9A-Za-z]{38}$",description:"The key itself. Store it now: it is not shown again."}}),Key:objectOf("A key without its text.",["id","kind","name","masked","databases","status","createdAt","lastUsedAt","expiresAt","revokedAt"],{...keyFields,status:{type:"string",enum:["active","expired","revoked"]},lastUsedAt:nullable("integer",{...times,description:"Epoch milliseconds; may lag by a minute."}),revokedAt:nullable("integer",{...times,description:"Epoch milliseconds, or null."})}),KeyList:objectOf("Keys, newest first.",["keys","cursor"],{keys:{type:"array",items:ref("Key")},cursor:nextCursor})};var{Key}=apiKeySchemas;var beside=objectOf("The calling key.",["organization"],{organization:{type:"string",description:"The name of the organization that the key belongs to."}});var ownKeySchemas={OwnKey:{...beside,properties:{...Key.properties,...beside.properties},required:[...Key.required,...beside.required]}};var apiKeyCatalogue={createApiKey:entry(createApiKeyOperation,{input:inputOf(apiKeySchemas.CreateKeyRequest,{}),output:ref("CreateKeyResponse"),examples:createApiKey2}),listApiKeys:entry(listApiKeysOperation,{input:inputOf({},listingMembers),output:ref("KeyList"),examples:listApiKeys2}),describeOwnApiKey:entry(describeOwnApiKeyOperation,{input:inputOf({},{}),output:ref("OwnKey"),examples:describeOwnApiKey2}),revokeApiKey:entry(revokeApiKeyOperation,{input:inputOf({},{id:{...ref("RecordKeyPart"),description:"The id of the key, from the list of keys."}},["id"]),output:ref("Key"),examples:revokeApiKey2})};init_hint();var bucketCreatedAt=1767225700000;var inAvatars={db:"app",bucket:"avatars"};var avatars={...inAvatars,id:"bkt_6Qm2sVx9LrT4nYc8WbKd1e",status:"active",createdAt:bucketCreatedAt};var deletedAvatars={...avatars,status:"deleted",deletedAt:tableDeletedAt,recoverableUntil:tableDeletedAt+7*24*60*60*1000};var createAvatars={operation:"createBucket",input:inAvatars,output:avatars};var deleteAvatars={operation:"deleteBucket",input:inAvatars,output:deletedAvatars};var listBuckets2=[{name:"all",summary:"All buckets",given:[createAvatars],input:{db:"app"},output:{buckets:[avatars],cursor:null}},{name:"deletedOnes",summary:"The deleted buckets that can be restored",given:[createAvatars,deleteAvatars],input:{db:"app",deleted:true},output:{buckets:[deletedAvatars],cursor:null}}];var createBucket2=[{name:"plain",summary:"A new bucket",input:{db:"app",bucket:"invoices"},output:{db:"app",bucket:"invoices",id:"bkt_0Zr7HdPq3JtXn5Ua9GvKf2",status:"active",createdAt:laterAt}},{name:"again",summary:"A bucket that already exists",given:[createAvatars],input:inAvatars,output:avatars,unchanged:true}];var describeBucket2=[{name:"describe",summary:"A bucket",given:[createAvatars],input:inAvatars,output:avatars},{name:"deleted",summary:"A bucket that was deleted",given:[createAvatars,deleteAvatars],input:inAvatars,error:{code:"bucket_not_found",message:"The bucket avatars in database app was deleted.",hint:["Restore it until 2026-01-09T00:00:00.000Z: ",call("restoreBucket",inAvatars),"; or create a new, empty bucket: ",call("createBucket",inAvatars)]}}];var deleteBucket2=[{name:"delete",summary:"Delete a bucket",given:[createAvatars],input:inAvatars,output:deletedAvatars}];var restoreBucket2=[{name:"newest",summary:"The bucket deleted last",given:[createAvatars,deleteAvatars],input:inAvatars,output:avatars},{name:"byTime",summary:"The bucket deleted at this time",given:[createAvatars,deleteAvatars],input:{...inAvatars,deletedAt:tableDeletedAt},output:avatars},{name:"nameTaken",summary:"The name is taken by a new bucket",given:[createAvatars,deleteAvatars,{operation:"createBucket",input:inAvatars}],input:inAvatars,error:{code:"bucket_exists",message:"An active bucket has the name avatars.",hint:["Delete it first (",call("deleteBucket",inAvatars),"), then restore with ",{send:{deletedAt:tableDeletedAt}},"."]}},{name:"noSuchDeletion",summary:"No bucket was deleted at this time",given:[createAvatars,deleteAvatars],input:{...inAvatars,deletedAt:1},error:{code:"bucket_not_found",message:"No recoverable bucket avatars was deleted at 1.",field:"deletedAt",hint:["See ",call("listBuckets",{db:"app",deleted:true}),", or leave deletedAt out for the newest."]}}];init_limits();var bucketFields={db:ref("Name"),bucket:ref("Name"),id:{type:"string",pattern:"^bkt_[0-9A-Za-z]{22}$",description:"Random. The URLs of the files contain it."},createdAt:milliseconds("When the bucket was created.")};var bucketSchemas={CreateBucketRequest:closed({type:"object",description:"A bucket has no properties to set.",properties:{}}),RestoreBucketRequest:closed(objectOf("Which bucket to restore, if several with the same name were deleted.",[],{deletedAt:{...milliseconds("The `deletedAt` of the bucket; absent: the bucket deleted last."),...exactIntegers}})),ActiveBucket:objectOf("A bucket.",["db","bucket","id","status","createdAt"],{...bucketFields,status:{type:"string",const:"active"}}),DeletedBucket:objectOf("A deleted bucket that can be restored.",["db","bucket","id","status","createdAt","deletedAt","recoverableUntil"],{...bucketFields,status:{type:"string",const:"deleted"},deletedAt:milliseconds("When it was deleted."),recoverableUntil:milliseconds(`It can be restored until this time, ${recoveryMs/86400000} days after \`deletedAt\`.`)}),BucketList:objectOf("Buckets by name.",["buckets","cursor"],{buckets:{type:"array",items:{oneOf:[ref("ActiveBucket"),ref("DeletedBucket")]}},cursor:nextCursor})};var bucketMembers={...dbMember,bucket:{...ref("Name"),description:"The bucket, for example one per kind of file."}};var bucketRequired=["db","bucket"];var address=inputOf({},bucketMembers,bucketRequired);var bucketCatalogue={listBuckets:entry(listBucketsOperation,{input:inputOf({},{...dbMember,...listingMembers,deleted:{type:"boolean",default:false,description:"True: list the deleted buckets that can still be restored, by name, then `deletedAt`."}},["db"]),output:ref("BucketList"),examples:listBuckets2}),createBucket:entry(createBucketOperation,{input:inputOf(bucketSchemas.CreateBucketRequest,bucketMembers,bucketRequired),output:ref("ActiveBucket"),examples:createBucket2}),describeBucket:entry(describeBucketOperation,{input:address,output:ref("ActiveBucket"),examples:describeBucket2}),deleteBucket:entry(deleteBucketOperation,{input:address,output:ref("DeletedBucket"),examples:deleteBucket2}),restoreBucket:entry(restoreBucketOperation,{input:inputOf(bucketSchemas.RestoreBucketRequest,bucketMembers,bucketRequired),output:ref("ActiveBucket"),examples:restoreBucket2})};init_hint();import{createHash as createHash3}from"crypto";var inAvatars2={db:"app",bucket:"avatars"};var fileExampleAt=1767787200000;var picture={name:"ada/small.png",content:"the bytes of a picture",contentType:"image/png"};var thePicture={...inAvatars2,name:picture.name};var fileOf2=(content,more,updatedAt)=>({name:picture.name,size:content.length,contentType:picture.contentType,visibility:"private",sha256:createHash3("sha256").update(content).digest("hex"),metadata:{},...more,updatedAt,url:null});var stored=fileOf2(picture.content,{},fileExampleAt);var putPicture={operation:"putFile",input:{...inAvatars2,...picture},output:stored};var given=[createAvatars,putPicture];var noFile2={code:"file_not_found",message:'There is no file "ada/large.png" in the bucket.',hint:["List the files of the bucket: ",call("queryFiles",inAvatars2)]};var otherVersion={code:"precondition_failed",message:`The file is at version ${fileExampleAt}; nothing was changed.`,hint:["Write with that version, ","after you have read the record again: ",call("getFile",thePicture)]};var inMilliseconds={code:"invalid_ttl",message:"ttl is 4102444800000; it takes epoch seconds, an integer from 0 to 253402300799.",field:"ttl",hint:"It looks like milliseconds; give seconds: 4102444800."};var putFile2=[{name:"upload",summary:"Upload a file",given:[createAvatars],input:{...inAvatars2,...picture},output:stored},{name:"withMetadata",summary:"With metadata, and only if the name is free",given:[createAvatars],input:{...inAvatars2,...picture,ttl:4102444800,metadata:{owner:"ada"},ifUpdatedAt:null},output:fileOf2(picture.content,{metadata:{owner:"ada"},ttl:4102444800},fileExampleAt)},{name:"taken",summary:"A file has the name already",given,input:{...inAvatars2,...picture,ifUpdatedAt:null},error:{code:"precondition_failed",message:`The file is at version ${fileExampleAt}; nothing was changed.`,hint:"Use another name, or replace the file: write with its version, or without a condition."}}];var getFile=[{name:"record",summary:"What is stored about a file",given,input:thePicture,output:stored},{name:"missing",summary:"No such file",given,input:{...thePicture,name:"ada/large.png"},error:noFile2}];var changeFile2=[{name:"metadata",summary:"Replace the metadata of a file",given,input:{...thePicture,metadata:{owner:"ada",width:64}},output:fileOf2(picture.content,{metadata:{owner:"ada",width:64}},laterAt)},{name:"changedMeanwhile",summary:"The file is at another version",given,input:{...thePicture,contentType:"image/webp",ifUpdatedAt:1},error:otherVersion},{name:"missing",summary:"No such file",given,input:{...thePicture,name:"ada/large.png",contentType:"image/webp"},error:noFile2},{name:"ttlInMilliseconds",summary:"A ttl in milliseconds",given,input:{...thePicture,ttl:4102444800000},error:inMilliseconds}];var deleteFile2=[{name:"delete",summary:"Delete a file",given,input:thePicture,output:{deleted:true}},{name:"missing",summary:"There is no such file",given,input:{...thePicture,name:"ada/large.png"},output:{deleted:false}},{name:"changedMeanwhile",summary:"The file is at another version",given,input:{...thePicture,ifUpdatedAt:1},error:otherVersion}];var queryFiles2=[{name:"byPrefix",summary:"The files whose names begin with a prefix",given,input:{...inAvatars2,prefix:"ada/"},output:{items:[stored],count:1,cursor:null}},{name:"newest",summary:"The newest file",given,input:{...inAvatars2,index:"t",limit:1},output:{items:[stored],count:1,cursor:null}},{name:"count",summary:"How many files there are",given,input:{...inAvatars2,select:"count"},output:{items:[],count:1,cursor:null}}];init_limits();init_limits();var recordKeyPart={type:"string",minLength:1,maxLength:keyBytesMax,not:{enum:[".",".."]},description:`1 to ${number(keyBytesMax)} bytes of UTF-8, any character, no lone surrogates. Only \`.\` and \`..\` are rejected, because URL parsers drop such segments.`};var hashKey=ref("RecordKeyPart");var rangeKey={...ref("RecordKeyPart"),description:'Optional. A record without a range key is stored with `#`: `"rangeKey": "#"` and no range key address the same record.'};var data=freeObject(`Any JSON object of at most ${number(dataBytesMax)} bytes, as it was sent, and ${dataDepthMax} levels. It is returned exactly as it was sent, with the same member order, number text and white space.`);var ttl={type:"integer",format:"int64",minimum:0,maximum:ttlSecondsMax,description:"When the record expires: epoch seconds, not a duration. The record no longer exists once this second begins. A time more than a day in the past is rejected. A put without `ttl` removes an earlier `ttl`."};var updatedAt=milliseconds("The record's version, which is also its `ETag`. It strictly increases with every write while the record exists.");var segment="[^/\\x00-\\x1f\\x7f-\\x9f]+";var visibility={type:"string",enum:visibilities,description:"Everybody can read a `public` file by its URL; a `private` one needs a secret key or a signed URL."};var contentType={type:"string",maxLength:contentTypeCharactersMax,pattern:contentTypePattern,not:{pattern:","},description:"The media type of the file, as it was sent. No comma is allowed, also not in a parameter."};var metadata=freeObject(`A JSON object of at most ${number(fileMetadataBytesMax)} bytes and ${dataDepthMax} levels. It is returned exactly as it was sent; \`{}\` by default.`);var ttl2={...ttl,description:"When the file expires: epoch seconds, not a duration. The file no longer exists once this second begins. A time more than a day in the past is rejected."};var fileFields2={name:ref("FileName"),size:{type:"integer",format:"int64",minimum:0,maximum:fileBytesMax,description:"In bytes."},contentType:{type:"string",description:"The media type of the file."},visibility,sha256:{type:"string",pattern:"^[0-9a-f]{64}$",description:"The SHA-256 of the bytes, in hex."},metadata,ttl:ttl2,updatedAt:milliseconds("The file's version, for conditions. It strictly increases with every write while the file exists."),url:nullable("string",{description:"The permanent URL of a public file; null for a private one."})};var fileRequired=["name","size","contentType","visibility","sha256","metadata","updatedAt","url"];var notPrefixAndIndex={not:{properties:{prefix:{},index:{}},required:["prefix","index"]}};var changes={visibility,contentType,metadata,ttl:nullable("integer",{...ttl2,description:`${ttl2.description} Null removes it.`})};var fileSchemas={FileName:{type:"string",minLength:1,maxLength:fileNameBytesMax,pattern:`^${segment}(/${segment}){0,${fileNameSegmentsMax-1}}$`,not:{pattern:"(^|/)\\.{1,2}(/|$)"},description:`1 to ${number(fileNameBytesMax)} bytes of UTF-8. \`/\` divides it into 1 to ${fileNameSegmentsMax} segments; none is empty, \`.\` or \`..\`. No control characters.`},FileRecord:objectOf("What is stored about a file.",[...fileRequired],fileFields2),FileItem:objectOf("A file of a page.",[...fileRequired],{...fileFields2,url:nullable("string",{description:"The permanent URL of a public file; for a private one null, or with `expiresIn` a signed URL."}),urlExpiresAt:milliseconds("When the signed URL expires. Only private files of a query with `expiresIn` have it.")}),ChangeFileRequest:{...closed(objectOf("What to change, at least one member.",[],changes)),minProperties:1},DeleteFileResult:objectOf("The result of a delete.",["deleted"],{deleted:{type:"boolean",description:"False if there was no such file."}}),FileQuery:{...closed(objectOf("Which files to list. `prefix` and `index` exclude each other.",[],{prefix:{type:"string",maxLength:fileNameBytesMax,description:"Only files whose names begin with it."},index:{type:"string",const:"t",description:"`t`: by `updatedAt`, newest first unless `ascending` is true. Absent: by name."},select:{type:"string",enum:fileSelections,description:"`data`: the files, as without `select`. `count`: `items` is empty, and `count` is the number of files that matched."},limit:{type:"integer",minimum:1,description:`The maximum number of items in a page, ${pageRowsDefault} if absent. A value above ${number(pageRowsMax)} counts as ${number(pageRowsMax)}. With \`select: "count"\` the maximum number of files that are counted: ${number(countRowsMax)} if absent, and at most.`},ascending:{type:"boolean",description:'True by default for a listing by name, false for `index: "t"`.'},cursor:nullable("string",{...cursorText,description:"The `cursor` of the previous page, with the same prefix, index and direction; null: the first."}),expiresIn:{type:"integer",minimum:1,maximum:urlSecondsMax,description:"Seconds. Private files get signed URLs that are valid for so long. Needs a secret key."}})),...notPrefixAndIndex},FilePage:objectOf(`A page. It ends early where the JSON text of \`items\`, metadata and URLs included, would exceed ${number(pageBytesMax)} bytes. A page may be short or even empty and still have a cursor: only null means the end.`,["items","count","cursor"],{items:{type:"array",items:ref("FileItem"),maxItems:pageRowsMax},count:{type:"integer",minimum:0,maximum:countRowsMax,description:'The number of items in this page; with `select: "count"` the number of files that matched.'},cursor:nextCursor})};var fileMembers={...bucketMembers,name:{...ref("FileName"),description:"The name of the file."}};var fileAddressRequired=[...bucketRequired,"name"];var putMembers={content:{type:"string",description:"The bytes of the file, here as text."},contentType:{...contentType,description:`${contentType.description} Absent: it follows the extension of the name, else it is \`application/octet-stream\`.`},visibility:{...visibility,default:"private"},ttl:ttl2,metadata};var base="http://127.0.0.1:4600/files/bkt_6Qm2sVx9LrT4nYc8WbKd1e";var expiresAt=1767788100000;var urlKeyId="key_4fTz9QmL2xVb7NcR";var urlSignature="W3Vd0xTq5m9nJcYkq2bq0bSx2o4o1mUu3C8h6y7rZtA";var signedUrl=(url,options="")=>`${url}?${options}expires=${expiresAt}&key=${urlKeyId}&signature=${urlSignature}`;var publish={operation:"changeFile",input:{...thePicture,visibility:"public"}};var getFileUrl2=[{name:"private",summary:"A private file for a quarter of an hour",given,input:thePicture,output:{url:signedUrl(`${base}/ada/small.png`),method:"GET",expiresAt}},{name:"permanent",summary:"A public file, to be saved as a file",given:[...given,publish],input:{...thePicture,download:true},output:{url:`${base}/ada/small.png?download`,method:"GET",expiresAt:null}},{name:"upload",summary:"Let a browser upload a picture of at most 1 MB",given:[createAvatars],input:{...thePicture,method:"PUT",expiresIn:300,contentType:picture.contentType,sizeMax:1e6},output:{url:signedUrl(`${base}/ada/small.png`,"contentType=image%2Fpng&sizeMax=1000000&"),method:"PUT",expiresAt}},{name:"missing",summary:"No such file",given,input:{...inAvatars2,name:"ada/large.png"},error:noFile2},{name:"badName",summary:"No file can have this name",given,input:{...inAvatars2,name:"ada/../small.png"},error:{code:"invalid_key",message:'name has a segment "." or "..", which URL parsers drop from paths.',field:"name",hint:"Use another name."}},{name:"millisecondsAsTtl",summary:"A ttl in milliseconds",given:[createAvatars],input:{...thePicture,method:"PUT",ttl:4102444800000},error:{code:"invalid_ttl",message:"ttl is 4102444800000; it takes epoch seconds, an integer from 0 to 253402300799.",field:"ttl",hint:"It looks like milliseconds; give seconds: 4102444800."}}];init_limits();var name={...ref("FileName"),description:"The name of the file."};var expiresIn=(absent)=>({type:"integer",minimum:1,maximum:urlSecondsMax,description:`Seconds, at most ${number(urlSecondsMax)}. The URL never outlives the API key that signs it. ${absent}`});var urlSchemas={DownloadUrlRequest:closed(objectOf("A URL to read a file with.",["name"],{name,method:{type:"string",const:"GET",description:"The URL is for reading, also if this is absent."},expiresIn:expiresIn(`Absent: a public file gets its permanent URL, a private one a signed URL for ${urlSecondsDefault} seconds.`),download:{anyOf:[{type:"boolean"},{type:"string",minLength:1,maxLength:downloadNameCharactersMax,pattern:"^[^\\x00-\\x1f\\x7f-\\x9f]*$"}],description:"Browsers save the file instead of showing it: true, or the name to save it as."}})),UploadUrlRequest:closed(objectOf("A URL to upload one file to. Needs a secret key.",["name","method"],{name,method:{type:"string",const:"PUT",description:"The URL is for an upload."},expiresIn:expiresIn(`Absent: ${urlSecondsDefault}.`),visibility,contentType:{...contentType,description:"The upload must have this type; one without a type gets it. Absent: any type is allowed."},sizeMax:{type:"integer",format:"int64",minimum:0,maximum:fileBytesMax,description:"The upload may have at most this many bytes."},ttl:ttl2,metadata,replace:{type:"boolean",description:"Whether the upload may replace a file. Absent or false: it is rejected if a file has the name."}})),FileUrlRequest:{description:"A URL to read a file with, or to upload one to.",anyOf:[ref("DownloadUrlRequest"),ref("UploadUrlRequest")]},FileUrl:objectOf("A URL of a file. Whoever has it can use it.",["url","method","expiresAt"],{url:{type:"string",description:"The URL. Send no API key with it."},method:{type:"string",enum:["GET","PUT"],description:"The method that it is for."},expiresAt:nullable("integer",{...times,description:"Epoch milliseconds. Null: the URL is permanent."})})};var condition={ifUpdatedAt:{oneOf:[nullable("integer",exactIntegers),{type:"string",const:"*"}],description:"Write only if this is the `updatedAt` of the file; null: only if it does not exist; `*`: only if it exists."}};var oneOfThese=(names)=>({anyOf:names.map((name)=>({properties:{[name]:{}},required:[name]}))});var fileCatalogue={putFile:entry(putFileOperation,{input:inputOf({},{...fileMembers,...putMembers,...condition},[...fileAddressRequired,"content"]),output:ref("FileRecord"),examples:putFile2}),getFile:entry(getFileOperation,{input:inputOf({},fileMembers,fileAddressRequired),output:ref("FileRecord"),examples:getFile}),changeFile:entry(changeFileOperation,{input:{...inputOf(fileSchemas.ChangeFileRequest,{...fileMembers,...condition},fileAddressRequired),...oneOfThese(["visibility","contentType","metadata","ttl"])},output:ref("FileRecord"),examples:changeFile2}),deleteFile:entry(deleteFileOperation,{input:inputOf({},{...fileMembers,...condition},fileAddressRequired),output:ref("DeleteFileResult"),examples:deleteFile2}),queryFiles:entry(queryFilesOperation,{input:{...inputOf(fileSchemas.FileQuery,bucketMembers,bucketRequired),...notPrefixAndIndex},output:ref("FilePage"),examples:queryFiles2}),getFileUrl:entry(getFileUrlOperation,{input:inputOf({oneOf:[urlSchemas.DownloadUrlRequest,urlSchemas.UploadUrlRequest]},bucketMembers,bucketRequired),output:ref("FileUrl"),examples:getFileUrl2})};var overtaken=[putInOrders({...secondOrder,data:{}},laterAt)];var wrongVersion={code:"precondition_failed",message:`The record is at version ${laterAt}; nothing was changed.`,hint:"Read the record again, apply your change to it, and write with its new version."};var thirdOrder={hashKey:"bob",rangeKey:"o-3",data:{status:"open",total:12,placedAt:"2026-01-07T10:00:00Z"}};var paidOrder={...firstOrder,data:{...firstOrder.data,status:"paid"}};var session={hashKey:"session-7",data:{user:"ada"},ttl:4102444800};var putRecord2=[{name:"put",summary:"Write a record",input:{...inOrders,...thirdOrder},output:{...thirdOrder,updatedAt:laterAt}},{name:"expiring",summary:"Write a record that expires, without a range key",input:{...inOrders,...session},output:{...session,updatedAt:laterAt}},{name:"replace",summary:"Replace the version that was read",input:{...inOrders,ifUpdatedAt:firstOrderAt,...paidOrder},output:{...paidOrder,updatedAt:laterAt}},{name:"create",summary:"Create, never replace",input:{...inOrders,ifUpdatedAt:null,...thirdOrder},output:{...thirdOrder,updatedAt:laterAt}},{name:"wrongVersion",summary:"Replace a version that is out of date",given:overtaken,input:{...inOrders,ifUpdatedAt:secondOrderAt,...secondOrder},error:wrongVersion},{name:"typo",summary:"A field that is not known",input:{...inOrders,hashKey:"bob",dat:{}},error:{code:"invalid_request",message:"dat is not a field of this request.",field:"dat",hint:"Known fields: hashKey, rangeKey, data, ttl."}},{name:"noKey",summary:"No hash key",input:{...inOrders,data:{}},error:{code:"invalid_key",message:"hashKey is missing; it takes a string.",field:"hashKey",hint:"Give hashKey as a string of 1 to 1024 bytes."}},{name:"arrayInIndex",summary:"An indexed field that holds an array",input:{...inOrders,hashKey:"bob",data:{status:["open","paid"]}},error:{code:"invalid_index_value",message:"data.status is an array; index i1 takes a string, number or boolean.",field:"data.status",hint:"Store it under another field, or leave data.status out: the index is sparse."}},{name:"millisecondsAsTtl",summary:"A ttl in milliseconds",input:{...inOrders,hashKey:"bob",data:{},ttl:4102444800000},error:{code:"invalid_ttl",message:"ttl is 4102444800000; it takes epoch seconds, an integer from 0 to 253402300799.",field:"ttl",hint:"It looks like milliseconds; give seconds: 4102444800."}}];var getRecord2=[{name:"get",summary:"A record without a range key",input:{...inOrders,hashKey:"draft"},output:{...draft,updatedAt:draftAt}},{name:"absent",summary:"No such record",input:{...inOrders,hashKey:"ada"},error:{code:"record_not_found",message:"There is no record with that key.",hint:["If it has a range key, ",{give:"rangeKey"},"."]}},{name:"get",summary:"A record with a range key",input:{...inOrders,hashKey:"ada",rangeKey:"o-1"},output:{...firstOrder,updatedAt:firstOrderAt}},{name:"absent",summary:"No such record",input:{...inOrders,hashKey:"ada",rangeKey:"o-9"},error:{code:"record_not_found",message:"There is no record with that key."}}];var absentForCondition={code:"precondition_failed",message:"The record does not exist; nothing was changed.",hint:"Write without the condition, or with one that holds for an absent record, to create it."};var deleteRecord2=[{name:"delete",summary:"Delete a record without a range key",input:{...inOrders,hashKey:"draft"},output:{deleted:true}},{name:"absent",summary:"No such record",input:{...inOrders,hashKey:"ada"},output:{deleted:false}},{name:"mustExist",summary:"Only if it exists",input:{...inOrders,hashKey:"ada",ifUpdatedAt:"*"},error:absentForCondition},{name:"delete",summary:"Delete the version that was read",input:{...inOrders,hashKey:"ada",rangeKey:"o-1",ifUpdatedAt:firstOrderAt},output:{deleted:true}},{name:"wrongVersion",summary:"Delete a version that is out of date",given:overtaken,input:{...inOrders,hashKey:"ada",rangeKey:"o-2",ifUpdatedAt:secondOrderAt},error:wrongVersion}];var first={...firstOrder,updatedAt:firstOrderAt};var second={...secondOrder,updatedAt:secondOrderAt};var withoutData=({hashKey,rangeKey,updatedAt})=>({hashKey,rangeKey,updatedAt});var cursor="Ahiozs1TS92gs31IqvfH-3B4rFIQ-TSvkM2O2hEJh9RqJEb_UwJwBmuTiAx128GwQjYVarx4B3kjRoCAHAU_";var firstPage={hash:"ada",range:{beginsWith:"o-"},ascending:false,limit:1};var askFirstPage={operation:"queryRecords",input:{...inOrders,...firstPage},output:{items:[second],count:1,cursor}};var queryRecords2=[{name:"byPrimaryKey",summary:"The orders of a customer, last key first",input:{...inOrders,...firstPage},output:{items:[second],count:1,cursor}},{name:"nextPage",summary:"The next page of the same query",given:[askFirstPage],input:{...inOrders,...firstPage,cursor},output:{items:[first],count:1,cursor:null}},{name:"byRecency",summary:"The records written since a time, newest first",input:{...inOrders,index:"t",range:{gte:"2026-01-01T00:00:00Z"}},output:{items:[{...draft,updatedAt:draftAt},second,first],count:3,cursor:null}},{name:"byIndex",summary:"Open orders placed in January",input:{...inOrders,index:"i1",hash:"open",range:{gte:"2026-01-01T00:00:00Z",lt:"2026-02-01T00:00:00Z"},limit:20},output:{items:[first,second],count:2,cursor:null}},{name:"keysOnly",summary:"The keys and versions of the orders of a customer, without data",input:{...inOrders,hash:"ada",range:{between:["o-1","o-2"]},select:"keys"},output:{items:[withoutData(first),withoutData(second)],count:2,cursor:null}},{name:"countOnly",summary:"How many orders are open",input:{...inOrders,index:"i1",hash:"open",select:"count"},output:{items:[],count:2,cursor:null}},{name:"nothingBetween",summary:"Bounds with nothing between them",input:{...inOrders,hash:"ada",range:{gte:"o-1",lt:"o-1"}},output:{items:[],count:0,cursor:null}},{name:"typo",summary:"A field that is not known",input:{...inOrders,hash:"ada",limt:10},error:{code:"invalid_request",message:"limt is not a field of this request.",field:"limt",hint:"Known fields: index, hash, range, select, limit, ascending, cursor."}},{name:"noHash",summary:"By primary key, without a hash",input:{...inOrders,limit:10},error:{code:"invalid_key",message:"hash is missing; it takes a string.",field:"hash",hint:'Give hash, or index: "t" for the newest records of the table.'}},{name:"nullHash",summary:"A hash that cannot be indexed",input:{...inOrders,index:"i1",hash:null},error:{code:"invalid_index_value",message:"hash is null; index i1 takes a string, number or boolean.",field:"hash",hint:"Give the value of status to look for."}},{name:"noSuchIndex",summary:"An index that was not declared",input:{...inOrders,index:"i2",hash:"ada"},error:{code:"index_not_declared",message:"The table declares no index i2.",field:"index",hint:"Declared: i1 (status)."}},{name:"twoLowerBounds",summary:"A range with two lower bounds",input:{...inOrders,hash:"ada",range:{gt:"o-1",gte:"o-2"}},error:{code:"invalid_range",message:"range has gt and gte; it takes one operator, or one of gt and gte together with one of lt and lte.",field:"range",hint:"Both are lower bounds; leave one of them out."}},{name:"boundsInWrongOrder",summary:"A range whose lower bound is above its upper one",input:{...inOrders,hash:"ada",range:{gte:"o-9",lt:"o-1"}},error:{code:"invalid_range",message:"range has its low bound above its high one.",field:"range",hint:"Give gte the lower value."}},{name:"unknownSelect",summary:"A select that is not known",input:{...inOrders,hash:"ada",select:"hashKey"},error:{code:"invalid_request",message:'select is "hashKey"; it takes "data", "keys" or "count".',field:"select",hint:"Leave select out to get whole records."}},{name:"cursorOfAnother",summary:"The cursor of another query",given:[askFirstPage],input:{...inOrders,hash:"bob",cursor},error:{code:"invalid_cursor",message:"cursor belongs to another query: table, hash, index, range and direction must be those it came with.",field:"cursor",hint:"Send the cursor of the previous answer with an otherwise identical request, or leave it out for the first page."}}];var findRecords2=[{name:"find",summary:"Two orders and a draft, one of which does not exist",input:{...inOrders,keys:[{hashKey:"ada",rangeKey:"o-2"},{hashKey:"ada",rangeKey:"o-9"},{hashKey:"draft"}]},output:{items:[second,{...draft,updatedAt:draftAt}],missing:[{hashKey:"ada",rangeKey:"o-9"}],unread:[]}},{name:"sameRecordTwice",summary:"One record twice",input:{...inOrders,keys:[{hashKey:"draft"},{hashKey:"draft",rangeKey:"#"}]},error:{code:"batch_duplicate_keys",message:"keys[1] names the same record as keys[0].",field:"keys[1]",hint:'Name each record once. No rangeKey and "#" are the same.'}},{name:"noKeys",summary:"No keys",input:{...inOrders,keys:[]},error:{code:"invalid_request",message:"keys is empty; it takes 1 to 100 record keys.",field:"keys",hint:'Write it as [{ "hashKey": \u2026 }, { "hashKey": \u2026, "rangeKey": \u2026 }].'}},{name:"noHashKey",summary:"A key without a hash key",input:{...inOrders,keys:[{hashKey:"draft"},{rangeKey:"o-1"}]},error:{code:"invalid_key",message:"keys[1].hashKey is missing; it takes a string.",field:"keys[1].hashKey",hint:"Give keys[1].hashKey as a string of 1 to 1024 bytes."}}];var applyBatch2=[{name:"mixed",summary:"Create one record, replace one, delete one",input:{...inOrders,operations:[{op:"put",hashKey:"bob",rangeKey:"o-3",data:{status:"open"},ifUpdatedAt:null},{op:"put",hashKey:"draft",data:{total:12},ttl:4102444800},{op:"delete",hashKey:"ada",rangeKey:"o-2",ifUpdatedAt:secondOrderAt}]},output:{count:3}},{name:"wrongVersion",summary:"One condition that does not hold",given:overtaken,input:{...inOrders,operations:[{op:"delete",hashKey:"draft"},{op:"delete",hashKey:"ada",rangeKey:"o-2",ifUpdatedAt:secondOrderAt}]},error:{code:"precondition_failed",message:`The record is at version ${laterAt}; nothing was changed.`,field:"operations[1].ifUpdatedAt",hint:"Read the record again, apply your change to it, and write with its new version."}},{name:"sameRecordTwice",summary:"Two operations on one record",input:{...inOrders,operations:[{op:"delete",hashKey:"draft"},{op:"put",hashKey:"draft",rangeKey:"#",data:{}}]},error:{code:"batch_duplicate_keys",message:"operations[1] names the same record as operations[0].",field:"operations[1]",hint:"Send the two operations in separate requests."}},{name:"noOperations",summary:"No operations",input:{...inOrders,operations:[]},error:{code:"invalid_request",message:"operations is empty; it takes 1 to 25 operations.",field:"operations"}},{name:"noKey",summary:"An operation without a hash key",input:{...inOrders,operations:[{op:"delete"}]},error:{code:"invalid_key",message:"operations[0].hashKey is missing; it takes a string.",field:"operations[0].hashKey",hint:"Give operations[0].hashKey as a string of 1 to 1024 bytes."}},{name:"nullInIndex",summary:"An indexed field that holds null",input:{...inOrders,operations:[{op:"put",hashKey:"bob",data:{status:null}}]},error:{code:"invalid_index_value",message:"data.status is null; index i1 takes a string, number or boolean.",field:"operations[0].data.status",hint:"Store it under another field, or leave data.status out: the index is sparse."}},{name:"millisecondsAsTtl",summary:"A ttl in milliseconds",input:{...inOrders,operations:[{op:"put",hashKey:"bob",data:{},ttl:4102444800000}]},error:{code:"invalid_ttl",message:"operations[0].ttl is 4102444800000; it takes epoch seconds, an integer from 0 to 253402300799.",field:"operations[0].ttl",hint:"It looks like milliseconds; give seconds: 4102444800."}}];init_limits();init_indices();var limit={type:"integer",minimum:1,description:`The maximum number of items in a page, ${pageRowsDefault} if absent. A value above ${number(pageRowsMax)} counts as ${number(pageRowsMax)}. With \`select: "count"\` the maximum number of records that are counted: ${number(countRowsMax)} if absent, and at most.`};var select={type:"string",enum:selections,description:"What the page has of each record. `data`: all of it, as without `select`. `keys`: all but `data`. `count`: nothing; `items` is empty, and `count` is the number of records that matched."};var page={select,limit,cursor:nullable("string",{...cursorText,description:"The `cursor` of the previous page, with the same hash, index, range and direction; null: the first page."})};var ascending=(absent)=>({type:"boolean",description:absent?"False: descending order. True if absent.":"True: oldest first. False if absent."});var range=(description,operand,operators)=>({type:"object",description:`${description} One operator, or one of \`gt\` and \`gte\` together with one of \`lt\` and \`lte\`; \`between\` takes \`[low, high]\`, both inclusive. Two bounds have the same type, and the lower one is not above the upper one.`,minProperties:1,maxProperties:2,properties:Object.fromEntries(operators.map((operator)=>[operator,operandOf(operator,operand)])),additionalProperties:false,not:{anyOf:[hasAll("gt","gte"),hasAll("lt","lte"),...operators.filter(isWholeRange).map((operator)=>({...hasAll(operator),minProperties:2}))]}});var hasAll=(...operators)=>({properties:Object.fromEntries(operators.map((operator)=>[operator,{}])),required:operators});var isWholeRange=(operator)=>["eq","between","beginsWith"].includes(operator);var operandOf=(operator,operand)=>{if(operator==="between")return{type:"array",items:operand,minItems:2,maxItems:2};return operator==="beginsWith"?{type:"string",maxLength:indexStringBytesMax}:operand};var primaryQuery=closed(objectOf("The records with one hash key, ordered by range key.",["hash"],{hash:{...ref("RecordKeyPart"),description:"The hash key."},range:ref("PrimaryRange"),...page,ascending:ascending(true)}));var recencyQuery=closed(objectOf("All records of the table, ordered by `updatedAt`, newest first unless `ascending` is true.",["index"],{index:{type:"string",const:"t"},range:ref("RecencyRange"),...page,ascending:ascending(false)}));var indexQuery=closed(objectOf("The records with one value in the hash field of an index, ordered by its range field.",["index","hash"],{index:{type:"string",enum:slots},hash:{...ref("IndexValue"),description:"The value of the hash field."},range:ref("IndexRange"),...page,ascending:ascending(true)}));var hourAndMinute="([01][0-9]|2[0-3]):[0-5][0-9]";var isoDateTime=`^[0-9]{4}-(0[1-9]|1[0-2])-(0[1-9]|[12][0-9]|3[01])T${hourAndMinute}:[0-5][0-9](\\.[0-9]{1,9})?(Z|[+-]${hourAndMinute})$`;var queryForms=[primaryQuery,recencyQuery,indexQuery];var querySchemas={IndexValue:{anyOf:[{type:"string",maxLength:indexStringBytesMax},{type:"number"},{type:"boolean"}],description:`A string of at most ${number(indexStringBytesMax)} bytes, a number or a boolean. A strict ISO-8601 date-time (\`2026-01-05T10:00:00Z\`) counts as its epoch milliseconds.`},PrimaryRange:range("By range key: operands are strings.",ref("RangeKeyOperand"),rangeOperators),RangeKeyOperand:{type:"string",maxLength:keyBytesMax},RecencyRange:range("By `updatedAt`: operands are epoch milliseconds or ISO-8601 date-times.",ref("Instant"),rangeOperators.filter((operator)=>operator!=="beginsWith")),Instant:{anyOf:[{type:"number"},{type:"string",pattern:isoDateTime}],description:"Epoch milliseconds, or an ISO-8601 date-time of a day that exists."},IndexRange:range("By the value of `rangeField`; matches only values of the same type as the operand.",ref("IndexValue"),rangeOperators),PrimaryQuery:primaryQuery,RecencyQuery:recencyQuery,IndexQuery:indexQuery,QueryRequest:{description:"One of three forms: by primary key, by recency, by declared index.",oneOf:[ref("PrimaryQuery"),ref("RecencyQuery"),ref("IndexQuery")]},QueryItem:objectOf("A record of a page.",["hashKey","updatedAt"],{hashKey,rangeKey,data:{...data,description:`${data.description} Absent with \`select: "keys"\`.`},ttl,updatedAt}),QueryResponse:objectOf(`A page. It ends early where the JSON text of \`items\`, keys and escapes included, would exceed ${number(pageBytesMax)} bytes. A page may be short or even empty and still have a cursor: only null means the end.`,["items","count","cursor"],{items:{type:"array",items:ref("QueryItem"),maxItems:pageRowsMax},count:{type:"integer",minimum:0,maximum:countRowsMax,description:'The number of items in this page; with `select: "count"` the number of records that matched.'},cursor:nextCursor})};init_limits();var ifUpdatedAt=nullable("integer",{...exactIntegers,description:"The `updatedAt` that the record must have; null: it must not exist. If not, the whole batch is rejected."});var recordSchemas={RecordKeyPart:recordKeyPart,PutRecordRequest:closed(objectOf("A record to write.",["hashKey","data"],{hashKey,rangeKey,data,ttl})),StoredRecord:objectOf("A record.",["hashKey","data","updatedAt"],{hashKey,rangeKey,data,ttl,updatedAt}),MinimalRecord:objectOf("A record without its data: the answer to `Prefer: return=minimal`.",["hashKey","updatedAt"],{hashKey,rangeKey,ttl,updatedAt}),DeleteResult:objectOf("The result of a delete.",["deleted"],{deleted:{type:"boolean",description:"False if there was no such record."}}),...querySchemas,RecordKey:closed(objectOf("The key of a record.",["hashKey"],{hashKey,rangeKey})),FindRequest:closed(objectOf("The keys of the records to read.",["keys"],{keys:{type:"array",minItems:1,maxItems:findKeysMax,items:ref("RecordKey"),description:"No two keys may name the same record."}})),FindResponse:objectOf("The records found. Every key asked for is in exactly one of the three lists.",["items","missing","unread"],{items:{type:"array",items:ref("StoredRecord"),maxItems:findKeysMax,description:`The records found, in the order of \`keys\`: at most ${number(pageBytesMax)} bytes of JSON text, keys and escapes included.`},missing:{type:"array",items:ref("RecordKey"),maxItems:findKeysMax,description:'The keys of records that do not exist, as asked. `"rangeKey": "#"` is left out.'},unread:{type:"array",items:ref("RecordKey"),maxItems:findKeysMax,description:"The keys for which `items` had no room: that of the first record that did not fit, and all after it. Ask for them again."}}),PutOperation:closed(objectOf("Writes a record.",["op","hashKey","data"],{op:{type:"string",const:"put"},hashKey,rangeKey,data,ttl,ifUpdatedAt})),DeleteOperation:closed(objectOf("Deletes a record. It is not an error if the record does not exist.",["op","hashKey"],{op:{type:"string",const:"delete"},hashKey,rangeKey,ifUpdatedAt})),BatchRequest:closed(objectOf("Operations of which all are applied, or none.",["operations"],{operations:{type:"array",minItems:1,maxItems:batchOperationsMax,items:{oneOf:[ref("PutOperation"),ref("DeleteOperation")]},description:"No two operations may name the same record."}})),BatchResponse:objectOf("The result of a batch.",["count"],{count:{type:"integer",minimum:1,maximum:batchOperationsMax,description:"The number of operations, all of which were applied."}})};var keyMembers={hashKey:{...ref("RecordKeyPart"),description:"The record's hash key."},rangeKey:{...ref("RecordKeyPart"),description:"The record's range key."}};var condition2={ifUpdatedAt:{oneOf:[nullable("integer",exactIntegers),{type:"string",const:"*"}],description:"Write only if this is the `updatedAt` of the record; null: only if it does not exist; `*`: only if it exists."}};var recordCatalogue={putRecord:entry(putRecordOperation,{input:inputOf(recordSchemas.PutRecordRequest,{...addressMembers,...condition2},addressRequired),output:ref("StoredRecord"),examples:putRecord2}),getRecord:entry(getRecordOperation,{input:inputOf({},{...addressMembers,...keyMembers},[...addressRequired,"hashKey"]),output:ref("StoredRecord"),examples:getRecord2}),deleteRecord:entry(deleteRecordOperation,{input:inputOf({},{...addressMembers,...keyMembers,...condition2},[...addressRequired,"hashKey"]),output:ref("DeleteResult"),examples:deleteRecord2}),queryRecords:entry(queryRecordsOperation,{input:inputOf({...recordSchemas.QueryRequest,oneOf:queryForms},addressMembers,addressRequired),output:ref("QueryResponse"),examples:queryRecords2}),findRecords:entry(findRecordsOperation,{input:inputOf(recordSchemas.FindRequest,addressMembers,addressRequired),output:ref("FindResponse"),examples:findRecords2}),applyBatch:entry(applyBatchOperation,{input:inputOf(recordSchemas.BatchRequest,addressMembers,addressRequired),output:ref("BatchResponse"),examples:applyBatch2})};var overtaken2=[putInOrders({...secondOrder,data:{}},laterAt)];var wrongVersion2={code:"precondition_failed",message:`The record is at version ${laterAt}; nothing was changed.`,hint:"Read the record again, apply your change to it, and write with its new version."};var collection="app.orders";var first2={collection,id:firstOrder.hashKey,rangeKey:firstOrder.rangeKey};var second2={collection,id:secondOrder.hashKey,rangeKey:secondOrder.rangeKey};var drafted={collection,id:draft.hashKey};var profile={name:"Bob",tags:["new"]};var paid={...firstOrder.data,status:"paid"};var getItem2=[{name:"get",summary:"An item without a range key",input:drafted,output:draft.data,version:draftAt},{name:"getWithRangeKey",summary:"An item with a range key",input:first2,output:firstOrder.data,version:firstOrderAt},{name:"absent",summary:"No such item",input:{collection,id:"ada"},error:{code:"record_not_found",message:"There is no record with that id.",hint:"If it has a range key, give it as rangeKey."}}];var putItem=[{name:"put",summary:"Write an item",input:{collection,id:"bob",data:profile},output:profile,version:laterAt},{name:"expiring",summary:"Write an item that expires",input:{collection,id:"session-7",data:{user:"ada"},ttl:4102444800},output:{user:"ada"},version:laterAt},{name:"replace",summary:"Replace the version that was read",input:{...first2,ifUpdatedAt:firstOrderAt,data:paid},output:paid,version:laterAt},{name:"create",summary:"Create, never replace",input:{collection,id:"bob",ifUpdatedAt:null,data:profile},output:profile,version:laterAt},{name:"wrongVersion",summary:"Replace a version that is out of date",given:overtaken2,input:{...second2,ifUpdatedAt:secondOrderAt,data:secondOrder.data},error:wrongVersion2},{name:"notAnObject",summary:"A document that is not an object",input:{collection,id:"bob",data:["new"]},error:{code:"invalid_request",message:"data is an array; it takes a JSON object.",field:"data",hint:'Wrap it: { "value": \u2026 }.'}},{name:"arrayInIndex",summary:"An indexed field that holds an array",input:{collection,id:"bob",data:{status:["open","paid"]}},error:{code:"invalid_index_value",message:"data.status is an array; index i1 takes a string, number or boolean.",field:"data.status",hint:"Store it under another field, or leave data.status out: the index is sparse."}}];var deleteItem=[{name:"delete",summary:"Delete an item",input:drafted,output:{deleted:true}},{name:"absent",summary:"No such item",input:{collection,id:"ada"},output:{deleted:false}},{name:"wrongVersion",summary:"Delete a version that is out of date",given:overtaken2,input:{...second2,ifUpdatedAt:secondOrderAt},error:wrongVersion2}];init_limits();var name2="[a-z0-9-][a-z0-9_-]{0,63}";var itemSchemas={Item:freeObject(`The \`data\` of a record: any JSON object of at most ${number(dataBytesMax)} bytes and ${dataDepthMax} levels. It is returned exactly as it was sent, without the white space around it.`)};var itemMembers={collection:{type:"string",pattern:`^(${name2}\\.)?${name2}$`,minLength:1,maxLength:129,description:"The database and the table, as `db.table`; `table` alone is in the database `default`."},id:{...ref("RecordKeyPart"),description:"The record's hash key."},rangeKey:{...ref("RecordKeyPart"),description:"The record's range key, if it has one."}};var itemRequired=["collection","id"];var itemCatalogue={getItem:entry(getItemOperation,{input:inputOf({},itemMembers,itemRequired),output:ref("Item"),examples:getItem2}),putItem:entry(putItemOperation,{input:inputOf({},{...itemMembers,data:ref("Item"),ttl,...condition2},[...itemRequired,"data"]),output:ref("Item"),examples:putItem}),deleteItem:entry(deleteItemOperation,{input:inputOf({},{...itemMembers,...condition2},itemRequired),output:ref("DeleteResult"),examples:deleteItem})};init_api_key();init_names();var createOrganization=async({engine},{name},nowMs)=>{const secret=makeApiKey({kind:"secret"});const open=makeApiKey({kind:"public"});const organization=await engine.organizations.create(name,[secret.kept,open.kept],nowMs);return organization&&{organization,secretKey:secret.text,publicKey:open.text}};var presentNewOrganization=({organization:{id,name},secretKey,publicKey})=>({id,name,secretKey,publicKey});var createOrganizationOperation=defineOperation({id:"createOrganization",area:"organizations",summary:"Create an organization with its first secret and public key",description:"The keys are shown only in this answer: the store keeps their hashes.",keyNeeded:"operator",effect:"writes",returns:"The organization and its keys; null if the name is taken.",codes:[],parse(text){const members=parsePlainBody(text);refuseUnknownMembers(members,["name"]);return{name:parseName(members.name,"name")}},run:createOrganization,present:(made)=>made===undefined?"null":JSON.stringify(presentNewOrganization(made))});var listOrganizations=async({engine})=>engine.organizations.list();var presentOrganizations=(organizations)=>({organizations:organizations.map(({id,name,createdAtMs})=>({id,name,createdAt:createdAtMs}))});var listOrganizationsOperation=defineOperation({id:"listOrganizations",area:"organizations",summary:"List organizations",description:"All organizations of the store, by name.",keyNeeded:"operator",effect:"reads",returns:"The organizations.",codes:[],parse(text){refuseUnknownMembers(parsePlainBody(text),[]);return{}},run:listOrganizations,present:(organizations)=>JSON.stringify(presentOrganizations(organizations))});var id2={type:"integer"};var key4={type:"string",pattern:"^svc_(live|pub)_[0-9A-Za-z]{38}$"};var organizationCatalogue={createOrganization:entry(createOrganizationOperation,{input:inputOf({},{name:{...ref("Name"),description:"A name that no other organization has."}},["name"]),output:{type:["object","null"],properties:{id:id2,name:ref("Name"),secretKey:key4,publicKey:key4},required:["id","name","secretKey","publicKey"]},examples:[{name:"create",summary:"An organization",input:{name:"acme"},output:{id:7,name:"acme",secretKey:"svc_live_EXAMPLEEXAMPLEEXAMPLEEXAMPLE000000stuv",publicKey:"svc_pub_EXAMPLEEXAMPLEEXAMPLEEXAMPLE000000wxyz"}},{name:"nameTaken",summary:"A name that is taken",given:[{operation:"createOrganization",input:{name:"acme"}}],input:{name:"acme"},output:null,unchanged:true}]}),listOrganizations:entry(listOrganizationsOperation,{input:inputOf({},{}),output:{type:"object",properties:{organizations:{type:"array",items:{type:"object",properties:{id:id2,name:ref("Name"),createdAt:milliseconds("When it was created.")},required:["id","name","createdAt"]}}},required:["organizations"]},examples:[{name:"all",summary:"All organizations",input:{},output:{organizations:[{id:1,name:"default",createdAt:1767139200000}]}}]})};init_hint();var listDatabases2=[{name:"all",summary:"All databases",input:{},output:{databases:["app"],cursor:null}},{name:"onePage",summary:"The first of several pages",given:[{operation:"createTable",input:{db:"blog",table:"posts"}}],input:{limit:1},output:{databases:["app"],cursor:"AjnWL1ysTG7OgIijV-gOTYoW9kLfm3-R7-mIQd-E7J95o744"}}];var listTables2=[{name:"all",summary:"All tables",input:{db:"app"},output:{tables:[orders],cursor:null}},{name:"deletedOnes",summary:"The deleted tables that can be restored",given:[deleteOrders],input:{db:"app",deleted:true},output:{tables:[deletedOrders],cursor:null}}];var createTable2=[{name:"plain",summary:"A table without indices",input:{db:"app",table:"customers"},output:{db:"app",table:"customers",indices:{},status:"active",createdAt:laterAt}},{name:"withIndices",summary:"A table with two indices",input:{...inOrders,table:"invoices",indices:{i1:{hashField:"status",rangeField:"dueAt"},i2:{hashField:"customer"}}},output:{db:"app",table:"invoices",indices:{i1:{hashField:"status",rangeField:"dueAt"},i2:{hashField:"customer"}},status:"active",createdAt:laterAt}},{name:"again",summary:"A table that already exists",input:{...inOrders,indices},output:orders,unchanged:true},{name:"otherIndices",summary:"A table that already exists with other indices",input:{...inOrders,indices:{i1:{hashField:"customer"}}},error:{code:"table_exists",message:"The table orders exists with other indices, and indices are immutable.",field:"indices",hint:`It declares ${JSON.stringify(indices)}. Use those, or create a table with another name.`}},{name:"noSuchSlot",summary:"An unknown slot",input:{db:"app",table:"customers",indices:{email:{hashField:"email"}}},error:{code:"invalid_index",message:"indices.email is not a slot.",field:"indices.email",hint:"Slots are i1, i2, i3, i4 and i5."}}];var describeTable2=[{name:"describe",summary:"A table",input:inOrders,output:orders},{name:"deleted",summary:"A table that was deleted",given:[deleteOrders],input:inOrders,error:{code:"table_not_found",message:"The table orders in database app was deleted.",hint:["Restore it until 2026-01-09T00:00:00.000Z: ",call("restoreTable",inOrders),"; or create a new, empty table: ",call("createTable",inOrders)]}}];var deleteTable2=[{name:"delete",summary:"Delete a table",input:inOrders,output:deletedOrders}];var restoreTable2=[{name:"newest",summary:"The table deleted last",given:[deleteOrders],input:inOrders,output:orders},{name:"byTime",summary:"The table deleted at this time",given:[deleteOrders],input:{...inOrders,deletedAt:tableDeletedAt},output:orders},{name:"nameTaken",summary:"The name is taken by a new table",given:[deleteOrders,{operation:"createTable",input:inOrders}],input:inOrders,error:{code:"table_exists",message:"An active table has the name orders.",hint:["Delete it first (",call("deleteTable",inOrders),"), then restore with ",{send:{deletedAt:tableDeletedAt}},"."]}},{name:"noSuchDeletion",summary:"No table was deleted at this time",given:[deleteOrders],input:{...inOrders,deletedAt:1},error:{code:"table_not_found",message:"No recoverable table orders was deleted at 1.",field:"deletedAt",hint:["See ",call("listTables",{db:"app",deleted:true}),", or leave deletedAt out for the newest."]}}];var address2=inputOf({},addressMembers,addressRequired);var tableCatalogue={listDatabases:entry(listDatabasesOperation,{input:inputOf({},listingMembers),output:ref("DatabaseList"),examples:listDatabases2}),listTables:entry(listTablesOperation,{input:inputOf({},{...dbMember,...listingMembers,deleted:{type:"boolean",default:false,description:"True: list the deleted tables that can still be restored, by name, then `deletedAt`."}},["db"]),output:ref("TableList"),examples:listTables2}),createTable:entry(createTableOperation,{input:inputOf(tableSchemas.CreateTableRequest,addressMembers,addressRequired),output:ref("ActiveTable"),examples:createTable2}),describeTable:entry(describeTableOperation,{input:address2,output:ref("ActiveTable"),examples:describeTable2}),deleteTable:entry(deleteTableOperation,{input:address2,output:ref("DeletedTable"),examples:deleteTable2}),restoreTable:entry(restoreTableOperation,{input:inputOf(tableSchemas.RestoreTableRequest,addressMembers,addressRequired),output:ref("ActiveTable"),examples:restoreTable2})};var catalogue={...organizationCatalogue,...apiKeyCatalogue,...tableCatalogue,...recordCatalogue,...itemCatalogue,...bucketCatalogue,...fileCatalogue};var membersOf=({properties,oneOf=[]})=>[...new Set([...Object.keys(properties??{}),...oneOf.flatMap(membersOf)])];var inputMembers=({input})=>membersOf(input);var codesOf=(entry)=>{const members=inputMembers(entry);const codes=new Set([...entry.codes,"invalid_request","internal","store_damaged","unavailable"]);const add=(...more)=>{for(const code of more)codes.add(code)};if(members.includes("db")||members.includes("collection"))add("invalid_name","reserved_name");if(members.includes("hashKey"))add("invalid_key");if(entry.effect!=="reads")add("outcome_unknown","storage_full");return errorCodes.filter((code)=>codes.has(code))};var theFile=given.map(givenStep);var published=[...given,publish].map(givenStep);var tag=`"${stored.sha256}"`;var range2={Range:"bytes=4-8"};var part={status:206,headers:{"Content-Range":`bytes 4-8/${stored.size}`},answer:"bytes"};var changed2={name:"otherBytes",summary:"Not the bytes that are meant",parameters:{"If-Match":'"0"'},status:412,answer:errorBody("precondition_failed",{message:`The bytes of the file have the tag ${tag}, which If-Match does not name.`,field:"If-Match",hint:"Read the file without If-Match, or with the ETag of an earlier answer with its bytes."})};var outside={name:"outside",summary:"A range behind the end of the file",parameters:{Range:"bytes=100-"},status:416,answer:errorBody("range_not_satisfiable",{message:`The file has ${stored.size} bytes; the range has none of them.`,field:"Range",hint:"Content-Range has the size of the file: bytes */<size>."})};var getFile2=[{name:"unchanged",summary:"A copy of the record that is still current",given:theFile,parameters:{record:true,"If-None-Match":`"${fileExampleAt}"`},status:304,headers:{ETag:`"${fileExampleAt}"`}},{name:"range",summary:"A part of the bytes",given:theFile,parameters:range2,...part},{...changed2,given:theFile},{...outside,given:theFile}];var noFile3=errorBody("file_not_found",{message:"There is no file at this URL.",hint:"A private file needs a signed URL; whoever has a secret key of the service can make one."});var readFileByUrl=[{name:"permanent",summary:"A public file",given:published,status:200,headers:{ETag:tag},answer:picture.content},{name:"range",summary:"A part of the bytes",given:published,parameters:range2,...part},{name:"unchanged",summary:"A copy that is still current",given:published,parameters:{"If-None-Match":tag},status:304,headers:{ETag:tag}},{name:"private",summary:"A private file, or none",given:theFile,status:404,answer:noFile3},{...changed2,given:published},{...outside,given:published}];var headFileByUrl=[{name:"exists",summary:"Does it exist?",given:published,status:200,headers:{ETag:tag}}];var askForUrl=givenStep({operation:"getFileUrl",input:{...thePicture,method:"PUT"},output:{url:signedUrl(`${base}/${picture.name}`),method:"PUT",expiresAt}});var signedParameters={expires:String(expiresAt),key:urlKeyId,signature:urlSignature};var upload={bytes:picture.content,parameters:{"Content-Type":picture.contentType}};var putFileByUrl=[{name:"upload",summary:"Upload a file with the URL for it",given:[givenStep(createAvatars),askForUrl],...{...upload,parameters:{...signedParameters,...upload.parameters}},status:200,headers:{ETag:`"${fileExampleAt}"`},answer:stored},{name:"taken",summary:"A file has the name, and the URL may not replace it",given:[...theFile,askForUrl],...{...upload,parameters:{...signedParameters,...upload.parameters}},status:412,answer:errorBody("precondition_failed",{message:`The file is at version ${fileExampleAt}; nothing was changed.`,hint:'This URL creates a file and does not replace one. Ask for a URL of another name, or for one made with "replace": true.'})},{name:"unsigned",summary:"A URL without a signature",given:[givenStep(createAvatars)],...upload,status:404,answer:noFile3}];var etag=(updatedAt)=>({ETag:`"${updatedAt}"`});var putItem2=[{name:"minimal",summary:"Get an answer without a body",parameters:{id:"bob",Prefer:"return=minimal"},body:{name:"Bob"},status:204,headers:etag(laterAt)}];var getItem3=[{name:"unchanged",summary:"A copy that is still current",parameters:{id:draft.hashKey,"If-None-Match":`"${draftAt}"`},status:304,headers:etag(draftAt)}];var headItem=[{name:"exists",summary:"Does it exist, and at which version?",parameters:{id:firstOrder.hashKey,rangeKey:firstOrder.rangeKey},status:200,headers:etag(firstOrderAt)}];var etag2=(updatedAt)=>({ETag:`"${updatedAt}"`});var order={hashKey:"bob",rangeKey:"o-3",data:{status:"open"}};var putRecord3=[{name:"minimal",summary:"Get an answer without data",parameters:{Prefer:"return=minimal"},body:order,status:200,headers:etag2(laterAt),answer:{hashKey:"bob",rangeKey:"o-3",updatedAt:laterAt}}];var unchanged=(parameters,updatedAt)=>({name:"unchanged",summary:"A copy that is still current",parameters:{...parameters,"If-None-Match":`"${updatedAt}"`},status:304,headers:etag2(updatedAt)});var getRecord3=[unchanged({hashKey:"draft"},draftAt),unchanged({hashKey:"ada",rangeKey:"o-1"},firstOrderAt)];var exists=(parameters,updatedAt)=>({name:"exists",summary:"Does it exist, and at which version?",parameters,status:200,headers:etag2(updatedAt)});var headRecord=[exists({hashKey:draft.hashKey},draftAt),exists({hashKey:firstOrder.hashKey,rangeKey:firstOrder.rangeKey},firstOrderAt)];var getEntryPoint=[{name:"program",summary:"For a program",status:200,answer:{name:"Cubby",version:package_default.version,docs:"http://127.0.0.1:4600/docs",openapi:"http://127.0.0.1:4600/openapi.json"}}];var checkHealth=[{name:"alive",summary:"Alive",status:200,answer:{status:"ok"}}];var checkReadiness=[{name:"ready",summary:"Ready",status:200,answer:{status:"ready"}}];var getDescription=[{name:"description",summary:"This document, shortened",status:200,answer:{openapi:"3.1.0",info:{title:"Cubby"}}}];var getDocsPage=[{name:"page",summary:"The page, shortened",status:200,answer:`<!doctype html>
<html lang="en">`,contentType:"text/html"}];var preflight=[{name:"put",summary:"May a page send PUT?",parameters:{"Access-Control-Request-Method":"PUT"},status:204,headers:{"Access-Control-Allow-Methods":"GET, HEAD, POST, PUT, PATCH, DELETE, OPTIONS"}}];init_limits();init_limits();var schemas={...tableSchemas,...recordSchemas,...itemSchemas,...bucketSchemas,...fileSchemas,...urlSchemas,...apiKeySchemas,...ownKeySchemas};var asComponent=(schema)=>JSON.parse(JSON.stringify(schema).replaceAll('"#/$defs/','"#/components/schemas/'));var httpSchemas={EntryPoint:objectOf("Where everything is.",["name","version","docs","openapi"],{name:{type:"string",enum:["Cubby"]},version:{type:"string",description:"The version of the server."},docs:{type:"string",description:"The URL of the description for people."},openapi:{type:"string",description:"The URL of the description for programs."}}),Health:{type:"object",description:"The server is alive or ready.",properties:{status:{type:"string",enum:["ok","ready"]}},required:["status"]},OpenApi:{type:"object",description:"An OpenAPI document.",properties:{openapi:{type:"string",pattern:"^3\\.1\\."},info:freeObject("Title, version and introduction.")},required:["openapi","info"],additionalProperties:true},Page:{type:"string",description:"HTML."},Error:objectOf("The body of every error.",["error"],{error:objectOf("The error.",["code","message","requestId"],{code:{type:"string",enum:errorCodes,"x-enumDescriptions":meanings,description:"For programs. Later versions may add codes; no code is removed or changes its meaning."},message:{type:"string",description:"For people: what was found and what was expected."},field:{type:"string",description:"The path of the wrong field: `data.status`, `operations[3].hashKey`."},hint:{type:"string",description:"The suggested next step, if there is one."},requestId:{type:"string",maxLength:requestIdCharactersMax,description:"The same as `X-Request-Id`."}})})};var schemas2={...asComponent(schemas),...httpSchemas};var refTo=(name)=>({$ref:`#/components/schemas/${name}`});var fromInput=(id,name,where,note="")=>{const{description,...schema}=catalogue[id].input.properties[name];return{name,in:where,...where==="path"&&{required:true,example:pathExamples[name]},description:[description,note].join(" ").trimEnd(),schema:asComponent(schema)}};var pathExamples={db:"app",table:"orders",bucket:"avatars",hashKey:"ada",rangeKey:"o-1",name:"ada/small.png",id:"key_4fJ2mQ9sT7bXc1LwZr8a",bucketId:"bkt_6Qm2sVx9LrT4nYc8WbKd1e",collection:"app.orders"};var encoded2="Percent-encoded once, as `encodeURIComponent` does.";var signedParameter=(name,description)=>({name,in:"query",description:`${description} Only in signed URLs: use them as they were given.`,schema:{type:"string"}});var parameters={db:fromInput("getRecord","db","path"),table:fromInput("getRecord","table","path"),bucket:fromInput("describeBucket","bucket","path"),hashKey:fromInput("getRecord","hashKey","path",encoded2),rangeKey:fromInput("getRecord","rangeKey","path",encoded2),name:fromInput("getFile","name","path","All that follows the bucket in the path. Each segment is percent-encoded once; `%2F` is the same as `/`."),id:fromInput("revokeApiKey","id","path"),collection:fromInput("getItem","collection","path"),itemId:{...fromInput("getItem","id","path",encoded2),example:"draft"},itemRangeKey:fromInput("getItem","rangeKey","query","`+` is a space here: write a plus as `%2B`."),itemTtl:fromInput("putItem","ttl","query"),limit:fromInput("listTables","limit","query"),cursor:fromInput("listTables","cursor","query"),deleted:fromInput("listTables","deleted","query"),visibility:fromInput("putFile","visibility","query"),ttl:fromInput("putFile","ttl","query"),metadata:{name:"metadata",in:"query",description:`The text of a JSON object of at most ${fileMetadataBytesMax.toLocaleString("en-US")} bytes after decoding, and ${dataDepthMax} levels. It is returned exactly as it was sent; \`{}\` by default.`,schema:{type:"string"}},record:{name:"record",in:"query",description:"True: the record of the file as JSON, instead of its bytes.",schema:{type:"boolean",default:false}},bucketId:{name:"bucketId",in:"path",required:true,example:pathExamples.bucketId,description:"The `id` of the bucket, which cannot be guessed.",schema:{type:"string",minLength:1}},v:{name:"v",in:"query",description:"For permanent URLs: the `updatedAt` of the file. If it is that of the current version, clients may keep the answer for a year without asking again.",schema:{type:"string"}},download:{name:"download",in:"query",description:"Browsers save the file instead of showing it: under this name, or if it is empty under its own.",schema:{type:"string"}},expires:signedParameter("expires","When the URL expires, in epoch milliseconds."),key:signedParameter("key","The id of the API key that signed the URL."),signature:signedParameter("signature","The signature of everything else in the URL, and of its method."),"Content-Digest":{name:"Content-Digest",in:"header",description:"The SHA-256 of the bytes (RFC 9530), for example `sha-256=:\u2026:`. If other bytes arrive, nothing is stored.",schema:{type:"string"}},"If-Match":{name:"If-Match",in:"header",description:"Write only if the record is at this version: the `ETag` of an answer, including the quotes. `*`: only if it exists. One strong tag, not a list.",schema:{type:"string",pattern:'^(\\*|"[\\x21\\x23-\\x7e\\x80-\\xff]*")$'}},"If-None-Match":{name:"If-None-Match",in:"header",description:"Answer 304 if the record is still at this version. Lists, weak tags and `*` work as HTTP defines.",schema:{type:"string"}},"If-None-Match: *":{name:"If-None-Match",in:"header",description:"`*`: write only if the record does not exist. It cannot be combined with `If-Match`.",schema:{type:"string",pattern:"^\\*$"}},"If-Match: bytes":{name:"If-Match",in:"header",description:"Answer 412 unless one of these tags is that of the bytes: the `ETag` of an answer with bytes, including the quotes.",schema:{type:"string"}},"If-None-Match: bytes":{name:"If-None-Match",in:"header",description:"Answer 304 if one of these tags is still that of the answer. Lists, weak tags and `*` work as HTTP defines.",schema:{type:"string"}},Range:{name:"Range",in:"header",description:"One range of bytes, such as `bytes=0-99`, `bytes=100-` or `bytes=-100`: the answer is 206 with these bytes. Several ranges, and ranges that HTTP does not define, are ignored. HEAD ignores it.",schema:{type:"string"}},"If-Range":{name:"If-Range",in:"header",description:"The `ETag` of an earlier answer. If the bytes have another one by now, all of them are sent.",schema:{type:"string"}},Prefer:{name:"Prefer",in:"header",description:"`return=minimal`: answer without the data that was sent.",schema:{type:"string"}},"Access-Control-Request-Method":{name:"Access-Control-Request-Method",in:"header",description:"Sent by the browser: the method that it wants to use.",schema:{type:"string"}}};var ofItems={id:"itemId",rangeKey:"itemRangeKey",ttl:"itemTtl"};var parameterAt=(path,name)=>(path.startsWith("/api/collections/")?ofItems[name]:undefined)??name;var componentNames={name:"nameOfFile",key:"keyOfUrl"};var parameterComponent=(name)=>componentNames[name]??name.replace(": *","-Any").replace(": bytes","-Of-Bytes");var parameterRef=(name)=>({$ref:`#/components/parameters/${parameterComponent(name)}`});var fixed=(description,value)=>({description,required:true,schema:{type:"string",enum:[value]}});var sha256Tag='"[0-9a-f]{64}"';var headers={"X-Request-Id":{description:"The id that the caller sent, if it was well-formed; otherwise a new one.",required:true,schema:{type:"string",minLength:1,maxLength:requestIdCharactersMax,pattern:"^[\\x21-\\x7e]+$"}},"Cache-Control":fixed("Clients may cache the answer but must revalidate it.","private, no-cache"),"Cache-Control: URL":{description:"`public, no-cache` at a permanent URL, `public, max-age=31536000, immutable` if it has the current `v`, and `private, no-cache` at a signed one.",required:true,schema:{type:"string",enum:["public, no-cache","public, max-age=31536000, immutable","private, no-cache"]}},"Cache-Control: errors":fixed("No cache keeps an error.","no-store"),"Access-Control-Allow-Origin":fixed("Pages from every origin may read the answer.","*"),"Access-Control-Expose-Headers":fixed("The headers that such pages may read.",exposedHeaders),ETag:{description:"The record\u2019s version, for `If-Match` and `If-None-Match`: its `updatedAt` in quotes.",required:true,schema:{type:"string",pattern:'^"[0-9]+"$'}},"ETag: bytes":{description:"The SHA-256 of the bytes, in hex and in quotes, for `If-Match`, `If-None-Match` and `If-Range`.",required:true,schema:{type:"string",pattern:`^${sha256Tag}$`}},"ETag: bytes or record":{description:"Of bytes their SHA-256, of the record its version, in quotes.",required:true,schema:{type:"string",pattern:`^(${sha256Tag}|"[0-9]+")$`}},"Accept-Ranges":fixed("Requests may ask for a range.","bytes"),"Content-Range":{description:"Which bytes these are, and how many the file has.",required:true,schema:{type:"string",pattern:"^bytes [0-9]+-[0-9]+/[0-9]+$"}},"Content-Range: size":{description:"How many bytes the file has.",required:true,schema:{type:"string",pattern:"^bytes \\*/[0-9]+$"},example:"bytes */22"},"Repr-Digest":{description:"The SHA-256 of all bytes of the file (RFC 9530), also if the answer has a part of them.",required:true,schema:{type:"string",pattern:"^sha-256=:[A-Za-z0-9+/]{43}=:$"}},"Content-Disposition":{description:"With the name of the file. `inline` for pictures, audio, video, PDF and plain text, unless `download` is given; otherwise `attachment`.",required:true,schema:{type:"string",pattern:"^(inline|attachment)"}},"X-Content-Type-Options":fixed("Browsers must not guess the type.","nosniff"),"Referrer-Policy":fixed("The URL is not told to others.","no-referrer"),"Cross-Origin-Resource-Policy":fixed("Pages from every origin may embed the file.","cross-origin"),"Content-Security-Policy: files":{description:"The file runs no script and loads nothing. Absent for PDF, which browsers do not show under any sandbox.",schema:{type:"string"}},Location:{description:"The path of the page, relative to the host.",required:true,schema:{type:"string"},example:"/docs"},"WWW-Authenticate":fixed("How to authenticate.","Bearer"),Allow:{description:"The methods of this path.",required:true,schema:{type:"string"},example:"DELETE, GET, HEAD, OPTIONS, POST, PUT"},"Retry-After":{description:"Seconds after which to repeat the request.",required:true,schema:{type:"integer",minimum:retryAfterSeconds,maximum:retryAfterSeconds},example:retryAfterSeconds},"Access-Control-Allow-Methods":{description:"The methods that the service accepts.",required:true,schema:{type:"string"}},"Access-Control-Allow-Headers":{description:"The headers that a page may send.",required:true,schema:{type:"string"},example:allowedHeaders},"Access-Control-Max-Age":{description:"Seconds for which the browser may cache this answer: a day.",required:true,schema:{type:"integer",minimum:0,maximum:86400},example:86400},"Content-Security-Policy":{description:"The page loads nothing: its own style and script are allowed by their hashes.",required:true,schema:{type:"string"}}};var headerField=(name)=>name.split(":",1)[0];var headerComponent=(name)=>name.replaceAll(/:? /g,"-");var headerRef=(name)=>({$ref:`#/components/headers/${headerComponent(name)}`});var tags={Tables:"A database exists while it has a table or a bucket. Indices are declared when a table is created and cannot be changed later.",Records:"A record is a JSON object with a hash key and an optional range key.","Queries and batches":"Many records at once: read in the order of an index or by their keys, or written all or none.",Items:"An item is a record as the plain document that it holds: `data` alone, without keys and version around it.",Buckets:"A bucket holds files. Its name may also be that of a table. A deleted bucket can be restored for 7 days, with all its files.",Files:"A file is bytes with a name, a content type and metadata. Files are private unless they are made public.","API keys":"Managing keys needs a secret key without a `databases` limit. Every key may describe itself.",Service:"These routes need no API key."};var verbsAreKeys=`The words ${verbs.map((verb)=>`\`${verb}\``).join(", ")} are verbs only for POST: here they are ordinary hash keys.`;var outputName=({output})=>output.$ref.split("/").at(-1);var bodyOf=({schema,required,bytesMax})=>({schema,required,description:`JSON in UTF-8, at most ${binaryBytes(bytesMax)}.`});var routed=(id,notes)=>{const{tag,note,headers=[],examples=[],codes=[],...more}=notes;const entry=catalogue[id];const route=findRoute(id);const answers=more.answers??{200:{description:entry.returns,schema:outputName(entry)}};const statuses=Object.keys(answers).map(Number).filter((status)=>status<300&&status!==206&&answers[status].schema!==undefined);const status={done:Math.max(...statuses),unchanged:Math.min(...statuses)};const tagged=answers[status.done].headers?.includes("ETag")??false;return{tag,summary:entry.summary,...more,description:note===undefined?entry.description:`${entry.description} ${note}`,parameters:[...(route.query??[]).map((name)=>parameterAt(route.paths[0],name)),...headers],body:route.body&&bodyOf(route.body),...route.bytes&&{bytes:{description:entry.input.properties[route.bytes].description}},answers,codes:[...codesOf(entry),...codes],examples:[...entry.examples.map((example)=>toHttpExample(route,example,status,tagged)),...examples]}};var copies="Compressed for clients that accept gzip. The answer has an `ETag`; with it in `If-None-Match` the answer is 304 while the copy is current.";var currentCopy={304:{description:"The copy is current."}};var bytesParameters=["If-Match: bytes","If-None-Match: bytes","Range","If-Range"];var bytesAnswers={206:{description:"The bytes of the range.",bytes:"only",headers:["ETag: bytes","Content-Range"]},304:{description:"The copy is current.",headers:["ETag: bytes or record"]}};var signedUrls="A signed URL has further parameters: use it exactly as it was given. Any change, also another method or an added parameter, is `invalid_signature`. It is valid until it expires, or until the API key that signed it expires or is revoked.";var urlCodes=["invalid_key","revoked_api_key","invalid_signature","expired_url","file_not_found","precondition_failed","internal","store_damaged","unavailable"];var urlParameters=["v","download","expires","key","signature"];var foundRecord={304:{description:"The record is still at that version.",headers:["ETag"]}};var operations={listDatabases:routed("listDatabases",{tag:"Tables"}),listTables:routed("listTables",{tag:"Tables"}),createTable:routed("createTable",{tag:"Tables",note:"The body may be empty.",answers:{200:{description:"The table already exists with the same indices.",schema:"ActiveTable"},201:{description:"Created.",schema:"ActiveTable"}}}),describeTable:routed("describeTable",{tag:"Tables"}),deleteTable:routed("deleteTable",{tag:"Tables",note:"The request has no body."}),restoreTable:routed("restoreTable",{tag:"Tables",note:"The body may be empty."}),putRecord:routed("putRecord",{tag:"Records",note:"Send the condition as `If-Match` or `If-None-Match`.",headers:["If-Match","If-None-Match: *","Prefer"],answers:{200:{description:"The record. With `Prefer: return=minimal` it has no `data`.",schema:["StoredRecord","MinimalRecord"],headers:["ETag"]}},examples:putRecord3}),getRecord:routed("getRecord",{tag:"Records",summary:"Get a record without a range key",summaryWithRangeKey:"Get a record with a range key",note:`\`If-Match\` is not allowed here. ${verbsAreKeys}`,headers:["If-None-Match"],answers:{200:{description:"The record.",schema:"StoredRecord",headers:["ETag"]},...foundRecord},examples:getRecord3}),headRecord:{tag:"Records",summary:"Check for a record without a range key",summaryWithRangeKey:"Check for a record with a range key",description:"Like GET, but without a body: tells whether the record exists, and its version.",parameters:["If-None-Match"],answers:{200:{description:"The record exists.",headers:["ETag"]},...foundRecord},codes:codesOf(catalogue.getRecord),examples:headRecord},deleteRecord:routed("deleteRecord",{tag:"Records",summary:"Delete a record without a range key",summaryWithRangeKey:"Delete a record with a range key",note:`The request has no body; \`If-None-Match\` is not allowed here. ${verbsAreKeys}`,headers:["If-Match"]}),queryRecords:routed("queryRecords",{tag:"Queries and batches"}),findRecords:routed("findRecords",{tag:"Queries and batches"}),applyBatch:routed("applyBatch",{tag:"Queries and batches"}),getItem:routed("getItem",{tag:"Items",note:"`If-Match` is not allowed here.",headers:["If-None-Match"],answers:{200:{description:"The document.",schema:"Item",headers:["ETag"]},...foundRecord},examples:getItem3}),headItem:{tag:"Items",summary:"Check for an item",description:"Like GET, but without a body: tells whether the record exists, and its version.",parameters:["itemRangeKey","If-None-Match"],answers:{200:{description:"The record exists.",headers:["ETag"]},...foundRecord},codes:codesOf(catalogue.getItem),examples:headItem},putItem:routed("putItem",{tag:"Items",note:"Send the condition as `If-Match` or `If-None-Match`.",headers:["If-Match","If-None-Match: *","Prefer"],answers:{200:{description:"The document.",schema:"Item",headers:["ETag"]},204:{description:"Written; the answer to `Prefer: return=minimal`.",headers:["ETag"]}},examples:putItem2}),deleteItem:routed("deleteItem",{tag:"Items",note:"The request has no body; `If-None-Match` is not allowed here.",headers:["If-Match"]}),listBuckets:routed("listBuckets",{tag:"Buckets"}),createBucket:routed("createBucket",{tag:"Buckets",note:"The body may be empty.",answers:{200:{description:"The bucket already exists.",schema:"ActiveBucket"},201:{description:"Created.",schema:"ActiveBucket"}}}),describeBucket:routed("describeBucket",{tag:"Buckets"}),deleteBucket:routed("deleteBucket",{tag:"Buckets",note:"The request has no body."}),restoreBucket:routed("restoreBucket",{tag:"Buckets",note:"The body may be empty."}),putFile:routed("putFile",{tag:"Files",note:`The body is the bytes of the file, with a \`Content-Length\` or chunked, at most ${binaryBytes(fileBytesMax)}; it may be empty. Send the condition as \`If-Match\` or \`If-None-Match\`. \`Content-Type\` is the type of the file; \`application/x-www-form-urlencoded\`, which some tools add, counts as none, and \`multipart/form-data\` is rejected. What the head of the request decides is answered without waiting for the body.`,headers:["Content-Digest","If-Match","If-None-Match: *"],answers:{200:{description:"The record of the file.",schema:"FileRecord",headers:["ETag"]}}}),getFile:routed("getFile",{tag:"Files",note:"The answer is the bytes of the file, with its own content type and its SHA-256 as the `ETag`; with `record=true` it is the record as JSON, with the version as the `ETag`. Of the bytes, conditions and one range work as HTTP defines: 206 with a part, 304, 412 and 416. With `record=true` only `If-None-Match` is allowed. HEAD answers the headers alone.",headers:["record",...bytesParameters],answers:{200:{description:"The bytes of the file, or its record.",schema:"FileRecord",bytes:"or JSON",headers:["ETag: bytes or record"]},...bytesAnswers},codes:["precondition_failed","range_not_satisfiable"],examples:getFile2}),changeFile:routed("changeFile",{tag:"Files",note:"Send the condition as `If-Match`.",headers:["If-Match"],answers:{200:{description:"The record of the file.",schema:"FileRecord",headers:["ETag"]}}}),deleteFile:routed("deleteFile",{tag:"Files",note:"The request has no body.",headers:["If-Match"]}),getFileUrl:routed("getFileUrl",{tag:"Files",note:"A public key gets the permanent URLs of public files only. Use the URL without an API key: GET and HEAD read the file, PUT uploads it."}),queryFiles:routed("queryFiles",{tag:"Files",note:"The body may be empty."}),readFileByUrl:{tag:"Files",summary:"Get a file by its URL",description:`The bytes of a public file at its permanent URL, or of any file at a signed one. No API key is needed, and none is read. An unknown bucket, an unknown file and a private file without a signature give the same answer. Conditions and one range work as HTTP defines. At a permanent URL unknown parameters are ignored. ${signedUrls}`,byUrl:true,parameters:[...urlParameters,...bytesParameters],answers:{200:{description:"The bytes of the file.",bytes:"only",headers:["ETag: bytes"]},206:bytesAnswers[206],304:{description:"The copy is current.",headers:["ETag: bytes"]}},codes:[...urlCodes,"range_not_satisfiable"],examples:readFileByUrl},headFileByUrl:{tag:"Files",summary:"Check for a file by its URL",description:"Like GET, but without a body: tells whether the file exists, its size, its type and its tag.",byUrl:true,parameters:[...urlParameters,"If-Match: bytes","If-None-Match: bytes"],answers:{200:{description:"The file exists.",bytes:"only",headers:["ETag: bytes"]},304:{description:"The copy is current.",headers:["ETag: bytes"]}},codes:[...urlCodes],examples:headFileByUrl},putFileByUrl:{tag:"Files",summary:"Upload a file to a signed URL",description:`Whoever has a URL for an upload may put that one file, without an API key: ask for the URL with \`method: "PUT"\`. What the URL was made with counts: its type, the most bytes, the visibility, the metadata, the ttl and whether it may replace a file. Condition headers are rejected. Without a signature the answer is 404. ${signedUrls}`,byUrl:true,parameters:["expires","key","signature","Content-Digest"],bytes:{description:catalogue.putFile.input.properties.content.description},answers:{200:{description:"The record of the file.",schema:"FileRecord",headers:["ETag"]}},codes:[...urlCodes,"invalid_request","digest_mismatch","file_too_large","unsupported_media_type","outcome_unknown","storage_full"],examples:putFileByUrl},createApiKey:routed("createApiKey",{tag:"API keys",answers:{201:{description:"The new key.",schema:"CreateKeyResponse"}}}),listApiKeys:routed("listApiKeys",{tag:"API keys"}),describeOwnApiKey:routed("describeOwnApiKey",{tag:"API keys"}),revokeApiKey:routed("revokeApiKey",{tag:"API keys",note:"The request has no body."}),getEntryPoint:{tag:"Service",summary:"Where is everything?",description:"The name and version of the server, and the addresses of its descriptions. A browser, whose `Accept` prefers `text/html`, is redirected to the page.",answers:{200:{description:"Name, version and addresses.",schema:"EntryPoint"},302:{description:"To a browser: the page for people.",headers:["Location"]}},codes:["internal"],examples:getEntryPoint},checkHealth:{tag:"Service",summary:"Is the process alive?",description:"Liveness probe.",answers:{200:{description:"The process is alive.",schema:"Health"}},codes:[],examples:checkHealth},checkReadiness:{tag:"Service",summary:"Can the process serve requests?",description:"Readiness probe: 503 while the store cannot be used.",answers:{200:{description:"The process can serve requests.",schema:"Health"}},codes:["unavailable"],examples:checkReadiness},getDescription:{tag:"Service",summary:"Get this description as OpenAPI",description:`An OpenAPI 3.1 document, generated from the routes that the server uses. ${copies}`,answers:{200:{description:"The document.",schema:"OpenApi"},...currentCopy},codes:["internal"],examples:getDescription},getDocsPage:{tag:"Service",summary:"Get this description as a web page",description:`One HTML page that loads nothing else. ${copies}`,answers:{200:{description:"The page.",contentType:"text/html",schema:"Page",headers:["Content-Security-Policy"]},...currentCopy},codes:["internal"],examples:getDocsPage},preflight:{tag:"Service",summary:"What may a page from another origin send?",description:"Browsers send this before some requests (CORS preflight). Every path gives the same answer, even an unknown one.",parameters:["Access-Control-Request-Method"],answers:{204:{description:"All methods and headers that the service accepts.",headers:["Access-Control-Allow-Methods","Access-Control-Allow-Headers","Access-Control-Max-Age"]}},codes:[],examples:preflight}};var describedAs=(id)=>operations[id];var shellWord=(text)=>/^[A-Za-z0-9_./:=@%+,-]+$/.test(text)?text:`'${text.replaceAll("'","'\\''")}'`;var quoted2=(text)=>JSON.stringify(text);var singleQuoted=(text)=>text.includes("'")?quoted2(text):`'${quoted2(text).slice(1,-1).replaceAll("\\\"",'"')}'`;var json={words:{true:"true",false:"false",null:"null"},text:quoted2,memberName:quoted2,padding:"",indent:"  ",trailingComma:false};var typescript={...json,text:singleQuoted,memberName:(name)=>/^[A-Za-z_$][\w$]*$/.test(name)?name:singleQuoted(name),padding:" ",trailingComma:true};var python={...json,words:{true:"True",false:"False",null:"None"},indent:"    ",trailingComma:true};var columnsMax=66;class Source{text;constructor(text){this.text=text}}var scalar=(value,{words,text})=>{if(value instanceof Source)return value.text;if(typeof value==="string")return text(value);if(typeof value==="boolean"||value===null)return words[`${value}`];return typeof value==="number"?String(value):undefined};var onOneLine=(value,syntax)=>{const simple=scalar(value,syntax);if(simple!==undefined)return simple;if(Array.isArray(value))return`[${value.map((item)=>onOneLine(item,syntax)).join(", ")}]`;const members=Object.entries(value);if(members.length===0)return"{}";const texts=members.map(([name,member])=>`${syntax.memberName(name)}: ${onOneLine(member,syntax)}`);return`{${syntax.padding}${texts.join(", ")}${syntax.padding}}`};var literal=(value,syntax,depth=0,before=0)=>{const line=onOneLine(value,syntax);const start=depth*syntax.indent.length+before;if(start+line.length<=columnsMax||scalar(value,syntax)!==undefined)return line;const inner=syntax.indent.repeat(depth+1);const lines=Array.isArray(value)?value.map((item)=>inner+literal(item,syntax,depth+1)):Object.entries(value).map(([name,member])=>{const head=`${syntax.memberName(name)}: `;return inner+head+literal(member,syntax,depth+1,head.length)});const[open,close]=Array.isArray(value)?"[]":"{}";return`${open}
${lines.join(`,
`)}${syntax.trailingComma?",":""}
${syntax.indent.repeat(depth)}${close}`};var keyHeader="Authorization: Bearer $CUBBY_KEY";var typeHeader="Content-Type: application/json";var curlLine=({method,target,headers,body,bytes,withKey})=>{const words=[`curl ${methodFlag(method)}"$CUBBY_URL${target}"`];if(withKey)words.push(`-H "${keyHeader}"`);if(body!==undefined)words.push(`-H '${typeHeader}'`);for(const[name,value]of Object.entries(headers))words.push(`-H ${shellWord(`${name}: ${value}`)}`);if(body!==undefined)words.push(`-d ${shellWord(literal(body,json,1,4))}`);if(bytes!==undefined)words.push(`--data-binary ${shellWord(bytes)}`);return words.join(" \\\n  ")};var methodFlag=(method)=>{if(method==="GET")return"";return method==="HEAD"?"-I ":`-X ${method} `};var wordsOf=(source)=>Array.from(source.matchAll(/(?:"[^"]*"|'[^']*'|\\'|[^\s'"\\])+/g),([word])=>word.replace(/"([^"]*)"|'([^']*)'|\\'/g,(all,double,single)=>all==="\\'"?"'":double??single));var parseCurlLine=(source)=>{const request={method:"GET",target:"",headers:{},withKey:false};const words=wordsOf(source).slice(1);for(let i=0;i<words.length;i++){const word=words[i];if(word==="-I")request.method="HEAD";else if(word==="-X")request.method=words[++i];else if(word==="-d")request.body=JSON.parse(words[++i]);else if(word==="--data-binary")request.bytes=words[++i];else if(word!=="-H")request.target=word.replace("$CUBBY_URL","");else{const header=words[++i];if(header===keyHeader)request.withKey=true;else if(header!==typeHeader)request.headers[header.split(": ",1)[0]]=header.replace(/^[^:]*: /,"")}}return request};init_limits();var servedOperation=(id,method,path,keyNeeded)=>({id,operation:describedAs(id),method,path,keyNeeded});var pathParameters2=(path)=>pathParameters(path).map((name)=>parameterAt(path,name));var examplesAt=({operation,path})=>{if(operation.parameters?.includes("itemRangeKey"))return operation.examples;const takesRangeKey=pathParameters2(path).includes("rangeKey");return operation.examples.filter(({parameters:given={}})=>given.rangeKey!==undefined===takesRangeKey)};var everywhere=["X-Request-Id","Access-Control-Allow-Origin","Access-Control-Expose-Headers"];var commonHeaders2=[...everywhere,"Cache-Control"];var safetyHeaders2=["X-Content-Type-Options","Referrer-Policy","Cross-Origin-Resource-Policy","Content-Security-Policy: files"];var bytesHeaders=["Accept-Ranges","Repr-Digest","Content-Disposition",...safetyHeaders2];var headersOfSuccess=({method,operation})=>{if(method==="OPTIONS")return everywhere;if(!operation.byUrl)return commonHeaders2;return[...everywhere,method==="PUT"?"Cache-Control":"Cache-Control: URL",...safetyHeaders2]};var headersOfError=({operation})=>operation.byUrl?[...everywhere,"Cache-Control: errors",...safetyHeaders2]:commonHeaders2;var headerExample=({headers:shown,answer,given},name)=>({value:shown[headerField(name)],...answer===undefined&&given&&{"x-given":given}});var headerObject=(name,examples)=>{const values=examples.filter(({headers:shown={}})=>shown[headerField(name)]!==undefined);if(values.length===0)return headerRef(name);const{example,...rest}=headers[name];return{...rest,examples:Object.fromEntries(values.map((shown)=>[shown.name,headerExample(shown,name)]))}};var headerObjects=(names,examples=[])=>Object.fromEntries(names.map((name)=>[headerField(name),headerObject(name,examples)]));var headersIfBytes=()=>Object.fromEntries(bytesHeaders.map((name)=>[headerField(name),{...headers[name],required:false}]));var anyBytes={type:"string",format:"binary"};var isRejection=(status)=>status>=400;var answerExamples=(examples)=>Object.fromEntries(examples.map(({name,summary,answer,given,status,body,bytes})=>[name,{summary,value:answer,...given&&{"x-given":given},...isRejection(status)&&(body??bytes)!==undefined&&{"x-request-body":body??bytes}}]));var schemaOf=(schema)=>Array.isArray(schema)?{anyOf:schema.map((name)=>refTo(name))}:refTo(schema);var successResponse=(served,all,status)=>{const answer=served.operation.answers[status];const{description,schema,contentType="application/json",bytes}=answer;const examples=all.filter((example)=>example.status===status);const names=[...headersOfSuccess(served),...bytes==="only"?bytesHeaders:[],...answer.headers??[]];const response={description,headers:{...headerObjects(names,examples),...bytes==="or JSON"&&headersIfBytes()}};const binary=bytes&&{"application/octet-stream":{schema:anyBytes}};if(schema===undefined&&(binary===undefined||served.method==="HEAD"))return response;const shown=examples.filter((example)=>example.answer!==undefined);const media={schema:schema===undefined?anyBytes:schemaOf(schema)};if(shown.length>0)media.examples=answerExamples(shown);if(schema===undefined)return{...response,content:{"application/octet-stream":media}};return{...response,content:{[contentType]:media,...binary}}};var errorHeaders={401:["WWW-Authenticate"],405:["Allow"],416:["Content-Range: size"],503:["Retry-After"]};var codeOf=({answer})=>answer.error.code;var errorResponse=(status,codes,all=[],common=commonHeaders2)=>{const own=all.filter((example)=>example.status===status);const shared=codes.filter((code)=>!own.some((example)=>codeOf(example)===code));return{description:codes.map((code)=>`\`${code}\`: ${meanings[code]}`).join(`

`),headers:headerObjects([...common,...errorHeaders[status]??[]]),content:{"application/json":{schema:refTo("Error"),examples:{...answerExamples(own),...Object.fromEntries(shared.map((code)=>[code,{$ref:`#/components/examples/${code}`}]))}}},"x-error-codes":codes}};var sharedResponses={Unauthorized:{status:401,codes:["missing_api_key","invalid_api_key","expired_api_key"]},MethodNotAllowed:{status:405,codes:["method_not_allowed"]},UnsupportedMediaType:{status:415,codes:["unsupported_media_type"]},InternalError:{status:500,codes:["internal"]},ReadFailed:{status:500,codes:["internal","store_damaged"]},WriteFailed:{status:500,codes:["internal","store_damaged","outcome_unknown"]},Unavailable:{status:503,codes:["unavailable"]},StorageFull:{status:507,codes:["storage_full"]}};var headersTooLarge={description:`The request line and the headers are larger than ${binaryBytes(requestHeadBytesMax)} together, or there are more than about 200 headers. This answer has no body and no \`X-Request-Id\`.`};var sharedResponseObjects=()=>({...Object.fromEntries(Object.entries(sharedResponses).map(([name,{status,codes}])=>[name,errorResponse(status,codes)])),HeadersTooLarge:headersTooLarge});var errorResponseOrReference=(served,status,codes,examples)=>{if(served.operation.byUrl)return errorResponse(status,codes,examples,headersOfError(served));const same=Object.entries(sharedResponses).find(([,shared])=>shared.codes.join()===codes.join());return same===undefined?errorResponse(status,codes,examples):{$ref:`#/components/responses/${same[0]}`}};var codesOf2=({operation,path,keyNeeded})=>{const names=pathParameters2(path);const codes=new Set([...operation.codes,"method_not_allowed",...names.length>0?["route_not_found"]:[],...operation.body===undefined?[]:bodyCodes,...keyNeeded===undefined?[]:accessCodes(keyNeeded,names.includes("db")||names.includes("collection"))]);return errorCodes.filter((code)=>codes.has(code))};var responsesOf=(served,examples)=>{const responses={};for(const status of Object.keys(served.operation.answers).map(Number)){responses[status]=successResponse(served,examples,status)}responses[431]={$ref:"#/components/responses/HeadersTooLarge"};if(served.method==="OPTIONS")return responses;for(const[status,codes]of Map.groupBy(codesOf2(served),(code)=>statusOf[code])){if(served.method==="HEAD"){if(status===416)continue;const names=[...headersOfError(served),...errorHeaders[status]??[]];const description=`Without a body: ${codes.map((code)=>`\`${code}\``).join(", ")}.`;responses[status]={description,headers:headerObjects(names)}}else responses[status]=errorResponseOrReference(served,status,codes,examples)}return responses};var known=parameters;var targetOf=({path,operation},given)=>{const filled=path.replace(/:(\w+)/g,(_,name)=>encodeParameter2(name,String(given[name]??known[parameterAt(path,name)].example)));const inQuery=(operation.parameters??[]).map((name)=>known[name]).filter((one)=>one.in==="query");const query=Object.entries(given).filter(([name])=>inQuery.some((one)=>one.name===name));if(query.length===0)return filled;return`${filled}?${new URLSearchParams(query.map(([name,value])=>[name,String(value)]))}`};var codeSample=(served,{summary,parameters:given={},body,bytes})=>{const names=(served.operation.parameters??[]).map((name)=>parameters[name]);const sent=names.filter(({name,in:where})=>where==="header"&&given[name]!==undefined);const source=curlLine({method:served.method,target:targetOf(served,given),headers:{...bytes!==undefined&&given["Content-Type"]!==undefined&&{"Content-Type":String(given["Content-Type"])},...Object.fromEntries(sent.map(({name})=>[name,String(given[name])]))},body,bytes,withKey:served.keyNeeded!==undefined});return{lang:"Shell",label:summary,source}};var parameterObject=(name,examples)=>{const parameter=known[name];const values=examples.filter(({parameters:given={}})=>given[parameter.name]!==undefined);if(values.length===0)return parameterRef(name);const{example,...rest}=parameter;const shown=parameter.in==="path"?examples:values;return{...rest,examples:Object.fromEntries(shown.map(({name:key,parameters:given={}})=>[key,{value:given[parameter.name]??example}]))}};var operationParameters=({operation,path},examples)=>[...pathParameters2(path),...operation.parameters??[]].map((name)=>parameterObject(name,examples));var bytesBody=(description,examples)=>{const shown=examples.filter(({status})=>!isRejection(status));const values=shown.map(({name,summary,bytes})=>[name,{summary,value:bytes}]);return{description,required:false,content:{"application/octet-stream":{schema:anyBytes,examples:Object.fromEntries(values)}}}};var requestBody=({operation},examples)=>{if(operation.bytes!==undefined)return bytesBody(operation.bytes.description,examples);if(operation.body===undefined)return;const{schema,required,description}=operation.body;const shown=examples.filter(({body,status})=>body!==undefined&&!isRejection(status));const values=shown.map(({name,summary,body})=>[name,{summary,value:body}]);return{description,required,content:{"application/json":{schema:refTo(schema),examples:Object.fromEntries(values)}}}};var security={read:[{secretKey:[]},{publicKey:[]}],write:[{secretKey:[]}],"manage-keys":[{secretKey:[]}],operator:[]};var nameAt=(served)=>{const{id,operation,path}=served;const{summary,description}=operation;if(!path.endsWith("/:rangeKey"))return{operationId:id,summary,description};return{operationId:`${id}WithRangeKey`,summary:operation.summaryWithRangeKey??summary,description}};var operationObject=(served)=>{const{operation,keyNeeded}=served;const examples=examplesAt(served);const own=operationParameters(served,examples);const body=requestBody(served,examples);return{...nameAt(served),tags:[operation.tag],security:keyNeeded===undefined?[]:security[keyNeeded],...own.length>0&&{parameters:own},...body&&{requestBody:body},responses:responsesOf(served,examples),"x-codeSamples":examples.map((example)=>codeSample(served,example)),"x-sample-examples":examples.map(({name})=>name)}};var methodOrder=["GET","HEAD","POST","PUT","PATCH","DELETE","OPTIONS"];var describedHeads={getRecord:"headRecord",getItem:"headItem"};var placesOf=(path,methods)=>{const described=Object.entries(methods).filter(([,{operationId}])=>!isVerbAsKey(path,operationId));const places=described.map(([method,{operationId,keyNeeded}])=>servedOperation(operationId,method,path,keyNeeded));const get=methods.GET;const head=get===undefined||isVerbAsKey(path,get.operationId)?undefined:describedHeads[get.operationId];if(head!==undefined)places.push(servedOperation(head,"HEAD",path,get.keyNeeded));if(path==="/v1")places.push(servedOperation("preflight","OPTIONS",path));return places.sort((a,b)=>methodOrder.indexOf(a.method)-methodOrder.indexOf(b.method))};var doorPlaces=()=>[servedOperation(doorRoutes.GET.operationId,"GET",doorPath),servedOperation("headFileByUrl","HEAD",doorPath),servedOperation(doorRoutes.PUT.operationId,"PUT",doorPath)];var templated=(path)=>path.replace(/:(\w+)/g,"{$1}");var pathItem=(places)=>Object.fromEntries(places.map((served)=>[served.method.toLowerCase(),operationObject(served)]));var bearer=(prefix,description)=>({type:"http",scheme:"bearer",bearerFormat:`${prefix} and 38 letters and digits`,description});var referredTo=(kind,named,text)=>Object.fromEntries(Object.entries(named).filter(([name])=>text.includes(`"#/components/${kind}/${name}"`)));var allParameters=()=>Object.fromEntries(Object.keys(parameters).map((name)=>[parameterComponent(name),parameters[name]]));var allHeaders=()=>Object.fromEntries(Object.keys(headers).map((name)=>[headerComponent(name),headers[name]]));var sharedExamples=()=>Object.fromEntries(errorCodes.flatMap((code)=>{const error=sharedErrors[code];return error===undefined?[]:[[code,{summary:meanings[code],value:errorBody(code,error)}]]}));var makeDocument=(publicUrl="/")=>{const places=[...Object.entries(routes).map(([path,methods])=>[path,placesOf(path,methods)]),[doorPath,doorPlaces()],...Object.entries(openRoutes).map(([path,id])=>[path,[servedOperation(id,"GET",path)]])];const paths=Object.fromEntries(places.map(([path,there])=>[templated(path),pathItem(there)]));const responses=sharedResponseObjects();const text=JSON.stringify([paths,responses]);return{openapi:"3.1.0",info:{title:"Cubby",version:package_default.version,summary:"A schemaless document store: JSON records in tables, found by key, by recency and by declared indices; files in buckets.",description:introduction,license:{name:package_default.license,identifier:package_default.license}},servers:[{url:publicUrl,description:"The server that sent this document."}],tags:Object.entries(tags).map(([name,description])=>({name,description})),paths,components:{schemas:schemas2,parameters:referredTo("parameters",allParameters(),text),headers:referredTo("headers",allHeaders(),text),responses,examples:sharedExamples(),securitySchemes:{secretKey:bearer("svc_live_","Reads and writes. For servers only: rejected if a web page from another origin sends it."),publicKey:bearer("svc_pub_","Reads records, tables and public files. Safe in browsers.")}},"x-given":exampleStore.map(givenStep)}};class Html{text;constructor(text){this.text=text}}var escapeHtml=(text)=>text.replaceAll("&","&amp;").replaceAll("<","&lt;").replaceAll(">","&gt;").replaceAll('"',"&quot;");var render=(part)=>{if(part instanceof Html)return part.text;if(Array.isArray(part))return part.map(render).join("");return part===undefined?"":escapeHtml(String(part))};var html=(strings,...parts)=>new Html(strings.reduce((text,string,i)=>text+render(parts[i-1])+string));var codes=new Set(errorCodes);var unbrokenCharactersMax=28;var code=(text)=>{if(codes.has(text))return html`<a href="#error-${text}"><code>${text}</code></a>`;return text.length>unbrokenCharactersMax?html`<code class="long">${text}</code>`:html`<code>${text}</code>`};var inline=(text)=>html`${text.split("`").map((part,i)=>i%2===1?code(part):part)}`;var block=(text)=>{if(!text.startsWith("- "))return html`<p>${inline(text)}</p>`;return html`<ul>${text.split(`
`).map((line)=>html`<li>${inline(line.slice(2))}</li>`)}</ul>`};var markdown=(text)=>html`${text.trim().split(`

`).map(block)}`;var topicsOf=(text)=>{const[lead,...rest]=text.split(/^## /m);const topics=rest.map((part)=>{const[title,...lines]=part.split(`
`);return{id:title.toLowerCase().replaceAll(" ","-"),title,text:lines.join(`
`)}});return{lead,topics}};var plain3=(id,title)=>html`<li><a href="#${id}">${title}</a></li>`;var titles={listTables:"List tables",describeTable:"Show a table",createTable:"Create a table",deleteTable:"Delete a table",restoreTable:"Restore a table",putRecord:"Put a record",getRecord:"Get a record",headRecord:"Check a record",deleteRecord:"Delete a record",getRecordWithRangeKey:"Get, with range key",headRecordWithRangeKey:"Check, with range key",deleteRecordWithRangeKey:"Delete, with range key",queryRecords:"Query records",findRecords:"Get several records",applyBatch:"Batch",getItem:"Get an item",headItem:"Check an item",putItem:"Put an item",deleteItem:"Delete an item",listBuckets:"List buckets",describeBucket:"Show a bucket",createBucket:"Create a bucket",deleteBucket:"Delete a bucket",restoreBucket:"Restore a bucket",getFile:"Get a file",putFile:"Put a file",changeFile:"Change a file",deleteFile:"Delete a file",getFileUrl:"Get a URL of a file",queryFiles:"List files",readFileByUrl:"Get by URL",headFileByUrl:"Check by URL",putFileByUrl:"Upload to a URL",listApiKeys:"List API keys",describeOwnApiKey:"Describe the calling key",revokeApiKey:"Revoke an API key",preflight:"Preflight",checkHealth:"Is it alive?",checkReadiness:"Is it ready?",getDescription:"OpenAPI document",getDocsPage:"This page"};var operation=({method,operation:{operationId,summary}})=>html`
<li><a href="#${operationId}">${titles[operationId]??summary} <span class="method ${method}">${method.toUpperCase()}</span></a></li>`;var group=(title,items)=>html`<p class="title">${title}</p><ul>${items}</ul>`;var contentsView=(document,entries)=>html`
<nav id="contents" popover aria-label="Contents">
<button type="button" class="quiet close" popovertarget="contents" popovertargetaction="hide">Close</button>
${group("Overview",[plain3("top","Start"),...topicsOf(document.info.description).topics.map(({id,title})=>plain3(id,title))])}
${document.tags.map(({name})=>group(name,entries.filter((entry)=>entry.operation.tags.includes(name)).map(operation)))}
${group("Reference",[plain3("error-codes","Error codes"),plain3("schemas","Schemas")])}
</nav>`;var httpMethods=["get","head","put","post","patch","delete","options"];var resolve=(document,value)=>{if(!("$ref"in value))return value;const[,,kind,name]=value.$ref.split("/");return document.components[kind][name]};var entriesOf=(document)=>Object.entries(document.paths).flatMap(([path,item])=>httpMethods.flatMap((method)=>{const operation=item[method];if(operation===undefined||"x-same-as"in operation)return[];return[{method,path,operation}]}));var parametersOf2=(document,{path,operation})=>{const byName=new Map;const{parameters=[]}=document.paths[path];for(const value of[...parameters,...operation.parameters??[]]){const parameter=resolve(document,value);byName.set(`${parameter.in} ${parameter.name}`,parameter)}return[...byName.values()].filter(({name})=>name!=="X-Request-Id")};var samplesIn=(operation)=>{const{"x-sample-examples":names=[]}=operation;const samples=operation["x-codeSamples"]??[];return samples.map(({label,source,example},i)=>({example:example??names[i],label,curl:source}))};var errorIn=(value)=>{const{error}=value??{};return error?.code===undefined?[]:[error]};var examplesByCode=(document)=>{const shared=Object.values(document.components.examples);const own=entriesOf(document).flatMap(({operation})=>Object.values(operation.responses).flatMap((response)=>{const{content={}}=resolve(document,response);return Object.values(content).flatMap(({examples={}})=>Object.values(examples))}));const errors=[...shared,...own].flatMap(({value})=>errorIn(value));return new Map(errors.reverse().map((error)=>[error.code,error]))};var exampleView=(error)=>{if(error===undefined)return html``;const hint=error.hint===undefined?"":html`<br>Hint: ${error.hint}`;return html`<p class="note">For example: ${error.message}${hint}</p>`};var errorsView=(document)=>{const examples=examplesByCode(document);return html`
<section class="topic" id="error-codes" data-group="Error codes"><h2><a href="#error-codes">Error codes</a></h2>
<dl class="fields">${errorCodes.map((name)=>html`
<div id="error-${name}" data-find="error"><dt><code>${name}</code> <span class="type">${statusOf[name]}</span></dt><dd><p>${inline(meanings[name])}</p>${exampleView(examples.get(name))}</dd></div>`)}</dl></section>`};var printed={json:"answer.json()",text:"answer.text",headers:"dict(answer.headers)"};var keyHeader2={Authorization:new Source(`f"Bearer {os.environ['CUBBY_KEY']}"`)};var pythonSample=({method,target,headers,body,bytes,withKey},shown)=>{const sent={...withKey&&keyHeader2,...headers};const given=[`os.environ["CUBBY_URL"] + ${literal(target,python)}`];if(Object.keys(sent).length>0)given.push(`headers=${literal(sent,python,1,8)}`);if(body!==undefined)given.push(`json=${literal(body,python,1,5)}`);if(bytes!==undefined)given.push(`data=${literal(bytes,python,1,5)}`);const call=`requests.${method.toLowerCase()}`;const inline=`answer = ${call}(${given.join(", ")})`;const request=inline.length<=72&&!inline.includes(`
`)?inline:`answer = ${call}(
    ${given.join(`,
    `)},
)`;return`import os

import requests

${request}
print(answer.status_code, ${printed[shown]})`};var call2=(object,method,given)=>{const name=`${object}.${method}(`;const texts=given.map((value)=>literal(value,typescript,0,name.length+14));return`${name}${texts.join(", ")})`};var optionsOf=(query)=>{const options=[...query].map(([name,text])=>[name,/^(\d+|true|false)$/.test(text)?new Source(text):text]);return options.length===0?[]:[Object.fromEntries(options)]};var writeOptions=(headers)=>{const options={};for(const[name,value]of Object.entries(headers)){if(name==="If-Match")options.ifMatch=value==="*"?value:Number(value.replaceAll('"',""));else if(name==="If-None-Match"&&value==="*")options.ifAbsent=true;else if(name==="Prefer")options.minimal=true;else return}return Object.keys(options).length===0?[]:[options]};var batchOperation=({ifUpdatedAt,...operation})=>{if(ifUpdatedAt===undefined)return operation;return ifUpdatedAt===null?{...operation,ifAbsent:true}:{...operation,ifMatch:ifUpdatedAt}};var keyOf2=(hashKey,rangeKey)=>rangeKey===undefined?hashKey:{hashKey,rangeKey};var identifier=(name,otherwise)=>/^[a-z][a-z0-9_]*$/.test(name)?name:otherwise;var bodyOf2=({body})=>body===undefined?[]:[body];var manageCall=(request,result,object,name,verb)=>{const made=(method,given=[])=>({setup:"",text:call2(object,method,[name,...given]),result});if(request.method==="GET")return made("describe");if(request.method==="DELETE")return made("drop");if(request.method!=="POST")return;return made(verb??"create",bodyOf2(request))};var recordsCall=(request,db,segments)=>{const[table,first,second]=segments;const object=identifier(table,"table");const setup=`const ${object} = cubby.db(${literal(db,typescript)}).table(${literal(table,typescript)})
`;const made=(method,given,result)=>({setup,text:call2(object,method,given),result});const{method,headers,body}=request;const options=writeOptions(headers);if(options===undefined)return;if(method==="PUT")return made("save",[body,...options],"record");if(method==="POST"&&first==="query"){const{select,...query}=body;return select==="count"?made("count",[query],"count"):made("query",[body],"page")}if(method==="POST"&&first==="find"){const{keys}=body;return made("find",[keys.map(({hashKey,rangeKey})=>keyOf2(hashKey,rangeKey))],"records")}if(method==="POST"&&first==="batch"){const{operations}=body;return made("batch",[operations.map(batchOperation)],"done")}if(method==="GET"&&options.length===0)return made("findOne",[keyOf2(first,second)],"record");if(method==="DELETE")return made("remove",[keyOf2(first,second),...options],"done");return};var putOptions=(headers,query)=>{const{"Content-Type":contentType,...conditions}=headers;const condition=writeOptions(conditions);if(condition===undefined)return;const{metadata,...parameters}=optionsOf(query)[0]??{};const options={...contentType!==undefined&&{contentType},...parameters,...metadata!==undefined&&{metadata:JSON.parse(metadata)},...condition[0]};return Object.keys(options).length===0?[]:[options]};var filesCall=(request,db,[bucket,...segments],query)=>{const object=identifier(bucket,"bucket");const setup=`const ${object} = cubby.db(${literal(db,typescript)}).bucket(${literal(bucket,typescript)})
`;const made=(method,given,result)=>({setup,text:call2(object,method,given),result});const name=segments.join("/");const{method,headers,body,bytes}=request;if(method==="PUT"){const options=putOptions(headers,query);return options&&made("put",[name,bytes??"",...options],"file")}const options=writeOptions(headers);if(options===undefined)return;if(method==="POST"&&name==="query"){const{select,...rest}=body??{};const given=Object.keys(rest).length===0?[]:[rest];return select==="count"?made("count",given,"count"):made("query",given,"page")}if(method==="POST"&&name==="url"){const{name:file,...rest}=body;return made("getUrl",Object.keys(rest).length===0?[file]:[file,rest],"link")}if(method==="GET"&&query.get("record")==="true")return made("describe",[name],"file");if(method==="PATCH")return made("update",[name,body,...options],"file");return method==="DELETE"?made("remove",[name,...options],"done"):undefined};var bucketsCall=(request,db,segments,query)=>{const[bucket,second]=segments;const buckets=`cubby.db(${literal(db,typescript)}).buckets`;if(bucket===undefined)return{setup:"",text:call2(buckets,"list",optionsOf(query)),result:"page"};if(second===undefined)return manageCall(request,"bucket",buckets,bucket);if(request.method==="POST"&&second==="restore"){return manageCall(request,"bucket",buckets,bucket,"restore")}return filesCall(request,db,segments,query)};var keysCall=(request,query,id)=>{const made=(method,given,result)=>({setup:"",text:call2("cubby.keys",method,given),result});const{method}=request;if(method==="GET"&&id==="self")return made("self",[],"key");if(method==="GET"&&id===undefined)return made("list",optionsOf(query),"page");if(method==="POST"&&id===undefined)return made("create",bodyOf2(request),"created");return method==="DELETE"&&id!=="self"?made("revoke",[id],"revoked"):undefined};var clientCall=(request)=>{const{pathname,searchParams:query}=new URL(request.target,"http://localhost");const[first,...segments]=pathname.slice(1).split("/").map(decodeURIComponent);if(first==="api"&&segments[0]==="keys")return keysCall(request,query,segments[1]);if(first!=="v1")return;const[db,table,third]=segments;if(db===undefined)return{setup:"",text:call2("cubby","databases",optionsOf(query)),result:"page"};const tables=`cubby.db(${literal(db,typescript)}).tables`;if(table===undefined)return{setup:"",text:call2(tables,"list",optionsOf(query)),result:"page"};if(table==="_buckets")return bucketsCall(request,db,segments.slice(2),query);if(third===undefined&&request.method!=="PUT")return manageCall(request,"table",tables,table);if(request.method==="POST"&&third==="restore"){return manageCall(request,"table",tables,table,"restore")}return recordsCall(request,db,segments.slice(1))};var printed2={json:"await answer.json()",text:"await answer.text()",headers:"Object.fromEntries(answer.headers)"};var fetchSample=({method,target,headers,body,bytes,withKey},shown)=>{const sent={...withKey&&{Authorization:new Source(`\`Bearer \${process.env.CUBBY_KEY}\``)},...body!==undefined&&{"Content-Type":"application/json"},...headers};const options={...method!=="GET"&&{method},...Object.keys(sent).length>0&&{headers:sent},...bytes!==undefined&&{body:bytes},...body!==undefined&&{body:new Source(`JSON.stringify(${literal(body,typescript,1,22)})`)}};const url=`\`\${process.env.CUBBY_URL}${target.replaceAll("`","%60")}\``;const given=Object.keys(options).length===0?"":`, ${multiLine(options)}`;return`const answer = await fetch(${url}${given})
console.log(answer.status, ${printed2[shown]})`};var multiLine=(options)=>{const lines=Object.entries(options).map(([name,value])=>{return`  ${name}: ${literal(value,typescript,1,name.length+2)},`});return`{
${lines.join(`
`)}
}`};var clientSample=(setup,result,call)=>`import { Cubby } from '@cubbydb/client'

const cubby = new Cubby({
  url: process.env.CUBBY_URL!,
  key: process.env.CUBBY_KEY!,
})
${setup}
const ${result} = await ${call}
console.log(${result})`;var sentByClient=(status)=>status<300||[404,409,412].includes(status);var typescriptSample=(request,status,shown)=>{const call=shown==="json"&&request.withKey&&sentByClient(status)?clientCall(request):undefined;if(call===undefined)return fetchSample(request,shown);return clientSample(call.setup,call.result,call.text)};var languages={curl:"curl",typescript:"TypeScript",python:"Python"};var samplesOf=(curl,status,shown)=>{const request=parseCurlLine(curl);return{curl,typescript:typescriptSample(request,status,shown),python:pythonSample(request,shown)}};var answerOf=(document,operation,name)=>{for(const[status,described]of Object.entries(operation.responses)){const response=resolve(document,described);const body=Object.values(response.content??{})[0]?.examples?.[name];const shown=Object.entries(response.headers??{}).flatMap(([header,value])=>{const example=resolve(document,value).examples?.[name];return example===undefined?[]:[[header,example]]});if(body===undefined&&shown.length===0)continue;const given=[body,...shown.map(([,example])=>example)].flatMap((example)=>example?.["x-given"]??[]);const headers=shown.map(([header,{value}])=>[header,String(value)]);return{status:Number(status),headers,value:body?.value,given}}throw new Error(`no answer of ${operation.operationId} has the example ${name}`)};var shownOf=({value})=>{if(value===undefined)return"headers";return typeof value==="string"?"text":"json"};var samplesFor=(document,operation,sample)=>{const answer=answerOf(document,operation,sample.example);return samplesOf(sample.curl,answer.status,shownOf(answer))};var givenNote=(steps)=>{if(steps.length===0)return html``;const shown=steps.map(({method,path},i)=>[i===0?"":", then ",html`<code>${method} ${path}</code>`]);return html`<p class="given">After ${shown}.</p>`};var codeViews=(sources)=>html`${Object.keys(languages).map((language)=>html`
<div class="code" data-language="${language}"><p class="label">${languages[language]}</p><pre data-syntax="${language}">${sources[language]}</pre></div>`)}`;var statusView=(status)=>html`<span class="status ${status<400?"ok":"bad"}">${status}</span>`;var answerView=({status,headers,value})=>{const lines=headers.map(([name,header])=>`${name}: ${header}
`).join("");const body=typeof value==="string"?value:value===undefined?"":literal(value,json);const text=[lines,body].filter((part)=>part!=="").join(`
`);const shown=text===""?html`<p class="note">No body.</p>`:html`<pre data-syntax="json">${text}</pre>`;return html`<div class="answer"><p class="label">Answer ${statusView(status)}</p>${shown}</div>`};var exampleView2=(document,operation,sample,first)=>{const answer=answerOf(document,operation,sample.example);const content=html`<summary>${sample.label} ${statusView(answer.status)}</summary>
<div class="request">${givenNote(answer.given)}${codeViews(samplesFor(document,operation,sample))}</div>
${answerView(answer)}`;const name=`${operation.operationId}-examples`;return first?html`<details name="${name}" data-example="${sample.example}" data-find="example" open>${content}</details>`:html`<details name="${name}" data-example="${sample.example}" data-find="example">${content}</details>`};var examplesView=(document,operation)=>html`
<div class="examples" data-operation="${operation.operationId}">
${samplesIn(operation).map((sample,i)=>exampleView2(document,operation,sample,i===0))}
</div>`;var schemaName=(schema)=>schema.$ref?.split("/").at(-1);var link=(name)=>html`<a href="#schema-${name}">${name}</a>`;var joined=(parts,between)=>html`${parts.map((part,i)=>i===0?part:[between,part])}`;var typeOf=(schema)=>{const name=schemaName(schema);if(name!==undefined)return link(name);const alternatives=schema.oneOf??schema.anyOf;if(alternatives!==undefined)return joined(alternatives.map(typeOf)," or ");if(schema.const!==undefined)return html`<code>${JSON.stringify(schema.const)}</code>`;if(schema.enum!==undefined){return joined(schema.enum.map((value)=>html`<code>${JSON.stringify(value)}</code>`)," or ")}const types=[schema.type??"any"].flat();const ofItems=schema.items===undefined?"":html` of ${typeOf(schema.items)}`;return html`${types.map((type,i)=>[i===0?"":" or ",type,type==="array"?ofItems:""])}`};var number2=(value)=>value.toLocaleString("en-US");var bounds=(low,high,unit)=>{if(low===undefined&&high===undefined)return[];const suffix=unit===""?"":` ${unit}`;if(low!==undefined&&low===high)return[`exactly ${number2(low)}${suffix}`];if(high===undefined)return[`at least ${number2(low)}${suffix}`];return[low===undefined?`at most ${number2(high)}${suffix}`:`${number2(low)} to ${number2(high)}${suffix}`]};var constraintsOf=(schema)=>[...bounds(schema.minLength,schema.maxLength,"characters"),...bounds(schema.minItems,schema.maxItems,"items"),...bounds(schema.minProperties,schema.maxProperties,"member"),...bounds(schema.minimum,schema.maximum,""),...schema.not?.enum===undefined?[]:[`not ${schema.not.enum.map((value)=>`\`${value}\``).join(" or ")}`],...schema.default===undefined?[]:[`\`${JSON.stringify(schema.default)}\` when absent`]];var patternOf=({pattern})=>pattern===undefined?[]:[`matches \`${pattern}\``];var typeView=(schema,withPattern)=>{const constraints=[...constraintsOf(schema),...withPattern?patternOf(schema):[]];const facts=constraints.length===0?"":html`, ${inline(constraints.join(", "))}`;return html`<span class="type">${typeOf(schema)}${facts}</span>`};var fieldView=({id,name,schema,required,description,place,nested})=>html`
<div id="${id}" data-find="field"><dt><code>${name}</code>${place===undefined?"":html` <span class="place">${place}</span>`} ${typeView(schema,id.startsWith("schema-")||description===undefined)}${required?html` <span class="required">required</span>`:""}</dt><dd>${description===undefined?"":html`<p>${inline(description)}</p>`}${nested}</dd></div>`;var descriptionOf=(document,schema)=>schema.description??document.components.schemas[schemaName(schema)??""]?.description;var foldedFields=(document,schema,prefix)=>{const name=schemaName(schema);const whole=document.components.schemas[name??""];if(name===undefined||whole?.properties===undefined)return;return html`<details class="nested"><summary>Fields of ${name}</summary>${fields2(document,whole,prefix)}</details>`};var fields2=(document,schema,prefix)=>{const properties=Object.entries(schema.properties??{});if(properties.length===0)return html``;const rows=properties.map(([name,property])=>{const id=`${prefix}-${name}`;const folded=prefix.startsWith("schema-")?undefined:foldedFields(document,property,id);const nested=property.properties===undefined?folded:fields2(document,property,id);const required=schema.required?.includes(name)??false;return fieldView({id,name,schema:property,required,description:descriptionOf(document,property),nested})});return html`<dl class="fields">${rows}</dl>`};var alternativesView=(document,alternatives,prefix)=>{const views=alternatives.map((alternative)=>{const name=schemaName(alternative);const whole=document.components.schemas[name??""];if(name===undefined||whole===undefined)return html`<p>${typeView(alternative,true)}</p>`;return html`<div class="alternative" data-find="schema"><p class="name">${link(name)}</p>
${whole.description===undefined?"":html`<p>${inline(whole.description)}</p>`}${schemaView(document,name,`${prefix}-${name}`)}</div>`});return html`${views}`};var schemaView=(document,name,prefix)=>{const schema=document.components.schemas[name];const alternatives=schema.oneOf??schema.anyOf??[];if(alternatives.some(({$ref})=>$ref!==undefined))return alternativesView(document,alternatives,prefix);return schema.properties===undefined?html`<p>${typeView(schema,true)}</p>`:fields2(document,schema,prefix)};var keyOf3=({security})=>{if(security.length===0)return"no key";return security.length===1?"secret key":"secret or public key"};var parameterList=(document,entry)=>{const parameters=parametersOf2(document,entry);if(parameters.length===0)return html``;const prefix=entry.operation.operationId;const rows=parameters.map(({name,in:place,schema,required=false,description})=>fieldView({id:`${prefix}-${name}`,name,schema,required,description,place}));return html`<h4>Parameters</h4><dl class="fields">${rows}</dl>`};var bodyView=(document,{operation})=>{if(operation.requestBody===undefined)return html``;const{description,required,content}=operation.requestBody;const schema=content["application/json"]?.schema;if(schema===undefined)return html`<h4>Body</h4><p class="note">Bytes of any type. ${description}</p>`;const name=schemaName(schema);const prefix=`${operation.operationId}-body`;const properties=Object.values(document.components.schemas[name].properties??{});const listed=properties.flatMap(({items})=>items?.oneOf??items?.anyOf??[]);return html`<h4>Body</h4>
<p class="note">${typeOf(schema)}${required?"":", or empty"}. ${description}</p>
${schemaView(document,name,prefix)}${alternativesView(document,listed,prefix)}`};var everywhere2=["X-Request-Id","Cache-Control","Access-Control-Allow-Origin","Access-Control-Expose-Headers"];var headerNote=(response)=>{const names=Object.keys(response.headers??{}).filter((name)=>!everywhere2.includes(name));if(names.length===0)return html``;return html`<span class="type">with ${names.map((name,i)=>[i===0?"":", ",html`<code>${name}</code>`])}</span>`};var errorCodesOf=(response)=>{const narrowed=response.content?.["application/json"]?.schema.allOf?.[1];const{"x-error-codes":named}=response;return named??(narrowed?.properties?.error?.properties?.code?.enum??[])};var answerView2=(document,status,value)=>{const response=resolve(document,value);const codes=errorCodesOf(response);const schema=Object.values(response.content??{})[0]?.schema;const what=codes.length>0?html`<p class="codes">${codes.map((name)=>html`<span>${code(name)}</span> `)}</p>`:html`<p>${inline(response.description)} ${schema===undefined?"":typeOf(schema)}</p>`;return html`<div><dt>${status}</dt><dd>${what}${headerNote(response)}</dd></div>`};var answerList=(document,{operation})=>html`<h4>Answers</h4>
<dl class="answers">${Object.entries(operation.responses).filter(([status])=>status!=="431").map(([status,value])=>answerView2(document,status,value))}</dl>`;var pathView=(path)=>{const segments=path.slice(1).split("/");const view=(segment)=>segment.startsWith("{")?html`<var>${segment}</var>`:segment;return html`<code>${segments.map((segment)=>[html`<wbr>/`,view(segment)])}</code>`};var operationView=(document,entry)=>{const{method,path,operation}=entry;return html`
<section class="operation columns" id="${operation.operationId}" data-find="operation" data-target="${method.toUpperCase()} ${path}">
<div class="text">
<h3><a href="#${operation.operationId}">${operation.summary}</a></h3>
<p class="route"><span class="method ${method}">${method.toUpperCase()}</span> ${pathView(path)} <span class="key">${keyOf3(operation)}</span></p>
${markdown(operation.description)}
</div>
${examplesView(document,operation)}
<div class="details">
${parameterList(document,entry)}
${bodyView(document,entry)}
${answerList(document,entry)}
</div>
</section>`};var contents_default=`import { all } from './dom.ts'

/** Marks the section that is being read, in the table of contents. */
const followSections = (contents: HTMLElement): void => {
  const links = all('a[href^="#"]', contents)
  const linkOf = new Map(links.map((link) => [document.getElementById(link.getAttribute('href')!.slice(1))!, link]))
  const inView = new Set<Element>()
  let current: HTMLElement | undefined
  const mark = (link: HTMLElement) => {
    if (link === current) return
    current?.removeAttribute('aria-current')
    link.setAttribute('aria-current', 'location')
    current = link
    const { top, bottom } = link.getBoundingClientRect()
    const frame = contents.getBoundingClientRect()
    // Only the table of contents is scrolled: \`scrollIntoView\` would also scroll the page.
    if (top < frame.top + 40 || bottom > frame.bottom - 40) contents.scrollTop += top - frame.top - frame.height / 2
  }
  const observer = new IntersectionObserver(
    (entries) => {
      for (const { isIntersecting, target } of entries) {
        if (isIntersecting) inView.add(target)
        else inView.delete(target)
      }
      // The last one that has reached the upper part of the screen.
      const section = [...linkOf.keys()].findLast((one) => inView.has(one))
      if (section !== undefined) mark(linkOf.get(section)!)
    },
    { rootMargin: '-64px 0px -75% 0px' },
  )
  for (const section of linkOf.keys()) observer.observe(section)
}

/** On a small screen the table of contents is a sheet: it closes when a link in it is followed. */
const closeSheet = (contents: HTMLElement): void => {
  contents.addEventListener('click', (event) => {
    if ((event.target as HTMLElement).closest('a') !== null && contents.matches(':popover-open')) contents.hidePopover()
  })
  matchMedia('(min-width: 768px)').addEventListener('change', () => {
    if (contents.matches(':popover-open')) contents.hidePopover()
  })
  contents.addEventListener('toggle', (event) => {
    if ((event as ToggleEvent).newState !== 'open') return
    const current = contents.querySelector<HTMLElement>('[aria-current]') ?? contents.querySelector('a')
    current?.focus()
  })
}

export const startContents = (): void => {
  const contents = document.getElementById('contents')!
  followSections(contents)
  closeSheet(contents)
}
`;var copy_default=`import { all, create } from './dom.ts'

const visibleCode = (box: HTMLElement): string =>
  all('.code pre', box).find((pre) => pre.offsetParent !== null)?.textContent ?? ''

/** One button for each box of examples: it copies the code that is shown. */
export const startCopying = (): void => {
  // Only pages from https or this machine may write to the clipboard.
  if (navigator.clipboard === undefined) return
  for (const box of all('.examples')) {
    const button = create('button', { type: 'button', class: 'quiet' }, 'Copy')
    button.addEventListener('click', async () => {
      const done = await navigator.clipboard.writeText(visibleCode(box)).then(
        () => 'Copied',
        () => 'Not allowed',
      )
      button.textContent = done
      setTimeout(() => {
        button.textContent = 'Copy'
      }, 1500)
    })
    box.querySelector('.tools')!.append(button)
  }
}
`;var dom_default=`type Child = Node | string

/** Creates an element. Text children are text, never HTML. */
export const create = <Name extends keyof HTMLElementTagNameMap>(
  name: Name,
  attributes: Record<string, string> = {},
  ...children: Child[]
): HTMLElementTagNameMap[Name] => {
  const element = document.createElement(name)
  for (const [key, value] of Object.entries(attributes)) element.setAttribute(key, value)
  element.append(...children)
  return element
}

export const all = (selector: string, within: ParentNode = document): HTMLElement[] =>
  Array.from(within.querySelectorAll<HTMLElement>(selector))

/** The address of this server, also behind a proxy that adds a prefix. */
export const serverUrl = (): string => new URL('.', location.href).href.replace(/\\/$/, '')
`;var examples_default=`import { all, create } from './dom.ts'

// The examples of an operation: one is shown, chosen by name, in one language for the whole page.

const languages = { curl: 'curl', typescript: 'TypeScript', python: 'Python' }
type Language = keyof typeof languages

const storageName = 'cubby-docs-language'

/** Storage may be switched off. Only the name of the language is ever kept in it. */
const rememberedLanguage = (): Language => {
  try {
    const name = localStorage.getItem(storageName)
    return name !== null && Object.hasOwn(languages, name) ? (name as Language) : 'curl'
  } catch {
    return 'curl'
  }
}

const remember = (language: Language): void => {
  try {
    localStorage.setItem(storageName, language)
  } catch {
    // Then it is remembered until the page is closed.
  }
}

/** Tells other parts that code has become visible. */
export const codeShown = 'codeshown'

export const showLanguage = (language: Language): void => {
  document.documentElement.dataset.language = language
  for (const tab of all('[role=tab]')) {
    const selected = tab.dataset.tab === language
    tab.setAttribute('aria-selected', String(selected))
    tab.tabIndex = selected ? 0 : -1
  }
  document.dispatchEvent(new Event(codeShown))
}

/** The chosen tab stays where it is on the screen, although blocks above it change their height. */
const choose = (language: Language, tab: HTMLElement): void => {
  const before = tab.getBoundingClientRect().top
  showLanguage(language)
  remember(language)
  scrollBy({ top: tab.getBoundingClientRect().top - before, behavior: 'instant' })
}

const moveTo = (tab: HTMLElement, key: string): void => {
  const tabs = all('[role=tab]', tab.parentElement!)
  const steps: Record<string, number> = { ArrowRight: 1, ArrowLeft: -1 }
  const at = tabs.indexOf(tab)
  const next =
    key === 'Home' ? 0 : key === 'End' ? tabs.length - 1 : (at + (steps[key] ?? 0) + tabs.length) % tabs.length
  if (next === at) return
  tabs[next]!.focus()
  choose(tabs[next]!.dataset.tab as Language, tabs[next]!)
}

export const languageTabs = (): HTMLElement => {
  const list = create('div', { role: 'tablist', 'aria-label': 'Language of the example' })
  for (const [language, title] of Object.entries(languages)) {
    const tab = create('button', { type: 'button', role: 'tab', 'data-tab': language }, title)
    tab.addEventListener('click', () => choose(language as Language, tab))
    tab.addEventListener('keydown', (event) => {
      if (!['ArrowRight', 'ArrowLeft', 'Home', 'End'].includes(event.key)) return
      event.preventDefault()
      moveTo(tab, event.key)
    })
    list.append(tab)
  }
  return list
}

/** A list to choose from instead of one line for each example. */
const exampleChooser = (box: HTMLElement): HTMLElement | undefined => {
  const examples = all('details', box) as HTMLDetailsElement[]
  if (examples.length < 2) return undefined
  const select = create('select', { 'aria-label': 'Example' })
  for (const example of examples) {
    const [label, status] = example.querySelector('summary')!.childNodes
    const text = \`\${label!.textContent!.trim()} (\${status!.textContent})\`
    select.append(create('option', { value: example.dataset.example! }, text))
    example.addEventListener('toggle', () => {
      if (!example.open) return
      select.value = example.dataset.example!
      document.dispatchEvent(new Event(codeShown))
    })
  }
  select.addEventListener('change', () => {
    for (const example of examples) example.open = example.dataset.example === select.value
  })
  return select
}

export const startExamples = (): void => {
  for (const panel of all('.code')) {
    panel.setAttribute('role', 'tabpanel')
    panel.setAttribute('aria-label', languages[panel.dataset.language as Language])
  }
  for (const box of all('.examples')) {
    const chooser = exampleChooser(box)
    const row = create('div', { class: 'tools' }, languageTabs())
    box.prepend(...(chooser === undefined ? [] : [create('div', { class: 'chooser' }, chooser)]), row)
  }
  showLanguage(rememberedLanguage())
}
`;var highlight_default=`import { all } from './dom.ts'

// Colours for the values in code, without elements for them: the browser paints ranges of the text. The page has thousands
// of values, so only blocks near the screen are read.

const doubleQuoted = '"(?:[^"\\\\\\\\\\\\n]|\\\\\\\\.)*"'
const singleQuoted = "'(?:[^'\\\\\\\\\\\\n]|\\\\\\\\.)*'|\`[^\`\\\\n]*\`"

/** A member name is a string too, but keeps the colour of the text. */
const pattern = (strings: string): RegExp =>
  new RegExp(
    [
      \`(?:\${strings})(?=\\\\s*:)\`,
      \`(?<string>\${strings})\`,
      '(?<number>(?<![\\\\w.$:-])-?\\\\d+(?:\\\\.\\\\d+)?(?:[eE][+-]?\\\\d+)?(?![\\\\w.]))',
      '(?<boolean>\\\\b(?:true|false|True|False)\\\\b)',
      '(?<null>\\\\b(?:null|None)\\\\b)',
    ].join('|'),
    'g',
  )

const kinds = ['string', 'number', 'boolean', 'null']

// In a shell, single quotes surround the whole body.
const tokensOf: Record<string, RegExp> = { typescript: pattern(\`\${doubleQuoted}|\${singleQuoted}\`) }
const plainTokens = pattern(doubleQuoted)

export const highlight = (pre: HTMLElement): void => {
  const text = pre.firstChild
  if (!(text instanceof Text) || pre.dataset.coloured !== undefined) return
  pre.dataset.coloured = ''
  for (const match of text.data.matchAll(tokensOf[pre.dataset.syntax ?? ''] ?? plainTokens)) {
    const kind = kinds.find((name) => match.groups?.[name] !== undefined)
    if (kind === undefined) continue
    const range = new Range()
    range.setStart(text, match.index)
    range.setEnd(text, match.index + match[0].length)
    CSS.highlights.get(kind)!.add(range)
  }
}

const supported = (): boolean => typeof Highlight === 'function' && 'highlights' in CSS

export const startHighlighting = (): void => {
  if (!supported()) return
  for (const name of kinds) CSS.highlights.set(name, new Highlight())
  const near = new IntersectionObserver(
    (entries) => {
      for (const { isIntersecting, target } of entries) {
        if (!isIntersecting) continue
        near.unobserve(target)
        highlight(target as HTMLElement)
      }
    },
    { rootMargin: '600px' },
  )
  // A hidden block is observed too: it intersects once its tab is chosen.
  for (const pre of all('pre[data-syntax]')) near.observe(pre)
}

export const highlightNow = (pre: HTMLElement): void => {
  if (supported()) highlight(pre)
}
`;var json_layout_default=`/**
 * Indents JSON text without reading its values: \`JSON.parse\` would round long numbers, and the server returns them as they
 * were sent. Text that is not JSON comes back unchanged.
 */
export const indentJson = (text: string): string => {
  try {
    JSON.parse(text)
  } catch {
    return text
  }
  let depth = 0
  const line = () => \`\\n\${'  '.repeat(depth)}\`
  // Strings are taken whole, so that their braces and spaces are left alone.
  return text.replace(/"(?:[^"\\\\]|\\\\.)*"|\\s+|[{[]\\s*[}\\]]|[{}[\\],:]/g, (token) => {
    if (token.startsWith('"')) return token
    if (/^\\s/.test(token)) return ''
    if (token.length > 1) return token[0]! + token.at(-1)
    if (token === ':') return ': '
    if (token === ',') return \`,\${line()}\`
    depth += token === '{' || token === '[' ? 1 : -1
    return token === '{' || token === '[' ? token + line() : line() + token
  })
}
`;var main_default=`import { startContents } from './contents.ts'
import { startCopying } from './copy.ts'
import { all, serverUrl } from './dom.ts'
import { startExamples } from './examples.ts'
import { startHighlighting } from './highlight.ts'
import { startReveal } from './reveal.ts'
import { startScrollers } from './scrollers.ts'
import { startSearch } from './search.ts'
import { startTryIt } from './try-it.ts'

// The page is complete without this script. It adds search, tabs, copying, the current section and the form that sends.

for (const place of all('[data-base]')) place.textContent = serverUrl()
for (const pre of all('[data-setup] pre')) pre.textContent = pre.textContent!.replace(/https?:[^\\s"]+/, serverUrl())
document.documentElement.classList.add('scripted')
startExamples()
startTryIt()
startCopying()
startContents()
startSearch()
startReveal()
startHighlighting()
startScrollers()
`;var reveal_default=`/** Shows a place of the page: opens what it is folded into, scrolls to it and marks it for a moment. */
export const reveal = (target: HTMLElement): void => {
  for (let at: HTMLElement | null = target; at !== null; at = at.parentElement) {
    if (at instanceof HTMLDetailsElement) at.open = true
  }
  target.scrollIntoView({ block: target.tagName === 'SECTION' ? 'start' : 'center' })
  target.classList.remove('found')
  // A second visit marks it again.
  requestAnimationFrame(() => target.classList.add('found'))
  if (!target.hasAttribute('tabindex')) target.tabIndex = -1
  target.focus({ preventScroll: true })
}

const revealHash = (): void => {
  const target = document.getElementById(decodeURIComponent(location.hash.slice(1)))
  // A section is where the browser goes by itself.
  if (target !== null && target.tagName !== 'SECTION' && target.id !== 'main') reveal(target)
}

export const startReveal = (): void => {
  addEventListener('hashchange', revealHash)
  if (location.hash !== '') revealHash()
}
`;var scrollers_default=`import { all } from './dom.ts'
import { codeShown } from './examples.ts'

/** A block that scrolls must be reachable with the keyboard. One that does not scroll should not be a stop on the way. */
export const markScrollers = (within: ParentNode = document): void => {
  const blocks = all('pre', within)
  // First read, then write: one layout for all.
  const scrolls = blocks.map((pre) => pre.scrollWidth > pre.clientWidth || pre.scrollHeight > pre.clientHeight)
  blocks.forEach((pre, i) => {
    if (scrolls[i]) pre.tabIndex = 0
    else pre.removeAttribute('tabindex')
  })
}

export const startScrollers = (): void => {
  let planned: number | undefined
  const plan = () => {
    clearTimeout(planned)
    planned = setTimeout(() => markScrollers(), 150)
  }
  document.addEventListener(codeShown, plan)
  addEventListener('resize', plan)
  markScrollers()
}
`;var search_default=`import { all, create } from './dom.ts'
import { reveal } from './reveal.ts'
import { excerptOf, type Found, type Place, readPlaces, search, splitMatches } from './search-index.ts'

const shownMax = 40

/** Marks the matches in a text. */
const marked = (text: string, query: string): (Node | string)[] =>
  splitMatches(text, query).map((piece, i) => (i % 2 === 1 ? create('mark', {}, piece) : piece))

class SearchDialog {
  readonly #dialog = create('dialog', { class: 'search', 'aria-label': 'Search' })
  readonly #input = create('input', {
    // In one of type \`search\`, Escape would empty the input before it closes the dialog.
    type: 'text',
    role: 'combobox',
    'aria-expanded': 'true',
    'aria-controls': 'results',
    'aria-autocomplete': 'list',
    'aria-label': 'Search operations, fields, errors and text',
    placeholder: 'Search operations, fields, errors and text',
    autocomplete: 'off',
    spellcheck: 'false',
  })
  readonly #results = create('div', { id: 'results', role: 'listbox', 'aria-label': 'Results', tabindex: '-1' })
  readonly #status = create('p', { class: 'note', role: 'status' })
  #places: Place[] = []
  #found: Found[] = []
  #active = 0

  constructor() {
    const close = create('button', { type: 'button', class: 'quiet' }, 'Close')
    close.addEventListener('click', () => this.#dialog.close())
    const foot = create('div', { class: 'foot' }, this.#status)
    this.#dialog.append(create('div', { class: 'head' }, this.#input, close), this.#results, foot)
    document.body.append(this.#dialog)
    this.#input.addEventListener('input', () => this.#update())
    this.#input.addEventListener('keydown', (event) => this.#key(event))
    // A click beside the box is on the dialog itself.
    this.#dialog.addEventListener('click', (event) => {
      if (event.target === this.#dialog) this.#dialog.close()
    })
  }

  open(): void {
    if (this.#dialog.open) return
    if (this.#places.length === 0) this.#places = readPlaces()
    this.#dialog.showModal()
    this.#input.select()
    this.#update()
  }

  #key(event: KeyboardEvent): void {
    const steps: Record<string, number> = { ArrowDown: 1, ArrowUp: -1, PageDown: 5, PageUp: -5 }
    const step = steps[event.key]
    if (step !== undefined) {
      event.preventDefault()
      this.#activate(Math.max(0, Math.min(this.#count - 1, this.#active + step)))
    } else if (event.key === 'Enter' && !event.isComposing) {
      event.preventDefault()
      this.#go(this.#active)
    }
  }

  get #count(): number {
    return Math.min(this.#found.length, shownMax)
  }

  #update(): void {
    const query = this.#input.value
    this.#found = search(this.#places, query)
    this.#results.replaceChildren(...this.#found.slice(0, shownMax).map((found, i) => this.#option(found, i, query)))
    this.#results.scrollTop = 0
    this.#activate(0)
    this.#status.textContent = this.#message(query)
  }

  #message(query: string): string {
    if (query.trim() === '') return 'Type a word: a field, a header, an error code. Enter opens, Escape closes.'
    if (this.#found.length === 0) return \`Nothing on this page has "\${query}". Try one word, or a part of it.\`
    const more = this.#found.length > shownMax ? \`, the first \${shownMax} are shown\` : ''
    return \`\${this.#found.length} \${this.#found.length === 1 ? 'result' : 'results'}\${more}\`
  }

  #option({ place }: Found, index: number, query: string): HTMLElement {
    const option = create(
      'div',
      { role: 'option', id: \`result-\${index}\` },
      create('p', { class: 'title' }, ...marked(place.title, query)),
      create('p', { class: 'path' }, ...marked(place.path, query)),
      create('p', { class: 'excerpt' }, ...marked(excerptOf(place, query), query)),
    )
    option.addEventListener('click', () => this.#go(index))
    option.addEventListener('pointermove', () => this.#activate(index))
    return option
  }

  #activate(index: number): void {
    this.#active = index
    all('[role=option]', this.#results).forEach((option, i) => {
      option.setAttribute('aria-selected', String(i === index))
      if (i === index) option.scrollIntoView({ block: 'nearest' })
    })
    if (this.#count > 0) this.#input.setAttribute('aria-activedescendant', \`result-\${index}\`)
    else this.#input.removeAttribute('aria-activedescendant')
  }

  #go(index: number): void {
    const place = this.#found[index]?.place
    if (place === undefined) return
    this.#dialog.close()
    const id = (place.element.id || place.element.closest('[id]')?.id) ?? ''
    // Not \`location.hash\`: the browser would scroll to the section instead of the place in it.
    history.pushState(null, '', \`#\${encodeURIComponent(id)}\`)
    reveal(place.element)
  }
}

const isTyping = (target: EventTarget | null): boolean =>
  target instanceof HTMLElement && target.matches('input, textarea, select, [contenteditable]')

export const startSearch = (): void => {
  const dialog = new SearchDialog()
  for (const button of all('[data-search]')) {
    button.hidden = false
    button.addEventListener('click', () => dialog.open())
  }
  addEventListener('keydown', (event) => {
    const slash = event.key === '/' && !event.ctrlKey && !event.metaKey && !event.altKey && !isTyping(event.target)
    const commandK =
      event.key.toLowerCase() === 'k' && (event.ctrlKey || event.metaKey) && !event.shiftKey && !event.altKey
    if (!slash && !commandK) return
    event.preventDefault()
    dialog.open()
  })
}
`;var search_index_default=`import { all } from './dom.ts'

// Search runs over the text of the page itself: nothing is downloaded twice, and what can be read can be found.

export interface Place {
  element: HTMLElement
  title: string
  /** The sections around it, outermost first. */
  path: string
  text: string
  /** Higher comes first among equal matches. */
  weight: number
}

export interface Found {
  place: Place
  score: number
}

const weights: Record<string, number> = { operation: 5, error: 4, topic: 3, field: 2, schema: 1, example: 0 }

const clean = (text: string): string => text.replace(/\\s+/g, ' ').trim()

/** The text of an element without that of places inside it, which are found by themselves. */
const ownText = (element: HTMLElement): string => {
  const parts: string[] = []
  const walk = (node: Node) => {
    if (node instanceof Text) parts.push(node.data)
    // Buttons and names of languages are not content.
    else if (!(node instanceof HTMLElement) || node.matches('[data-find], .label, .tools, .chooser')) return
    else {
      for (const child of node.childNodes) walk(child)
      if (/^(BR|P|LI|DT|DD|DIV|H\\d|SUMMARY|PRE)$/.test(node.tagName)) parts.push(' ')
    }
  }
  for (const child of element.childNodes) walk(child)
  return clean(parts.join(''))
}

/** The status of an example is not part of its name. */
const titleOf = (element: HTMLElement): string => {
  const title = element.querySelector('h1, h2, h3, dt > code, summary, .name')
  return clean((title?.tagName === 'SUMMARY' ? title.firstChild : title)?.textContent ?? '')
}

const pathOf = (element: HTMLElement): string => {
  const titles: string[] = []
  for (let at = element.parentElement?.closest('[data-find], [data-group]'); at; ) {
    titles.unshift((at as HTMLElement).dataset.group ?? titleOf(at as HTMLElement))
    at = at.parentElement?.closest('[data-find], [data-group]')
  }
  return titles.join(' \u203A ')
}

export const readPlaces = (): Place[] =>
  all('[data-find]').map((element) => {
    const kind = element.dataset.find!
    const target = element.dataset.target ?? ''
    return {
      element,
      title: titleOf(element),
      path: pathOf(element),
      text: clean(\`\${target} \${ownText(element)}\`),
      // The place where a field is used comes before the list of all schemas.
      weight: (weights[kind] ?? 0) - (element.closest('#schemas') === null ? 0 : 1.5),
    }
  })

const escapePattern = (text: string): string => text.replace(/[.*+?^\${}()|[\\]\\\\]/g, '\\\\$&')

/** How well one word matches a place; 0 if it does not. */
const scoreOf = (word: string, title: string, path: string, text: string): number => {
  if (title === word) return 60
  if (title.startsWith(word)) return 40
  if (title.includes(word)) return 30
  if (new RegExp(\`(^|[^\\\\p{L}\\\\p{N}])\${escapePattern(word)}\`, 'u').test(text)) return 20
  if (text.includes(word)) return 12
  return path.includes(word) ? 6 : 0
}

/** All words must match. */
export const search = (places: Place[], query: string): Found[] => {
  const words = clean(query.toLowerCase()).split(' ')
  if (words[0] === '') return []
  return places
    .map((place) => {
      const [title, path, text] = [place.title, place.path, place.text].map((part) => part.toLowerCase())
      const scores = words.map((word) => scoreOf(word, title!, path!, text!))
      return { place, score: scores.includes(0) ? 0 : scores.reduce((sum, score) => sum + score) + place.weight }
    })
    .filter(({ score }) => score > 0)
    .sort((a, b) => b.score - a.score)
}

/** The part of the text around the first match, cut at words. */
export const excerptOf = ({ text }: Place, query: string): string => {
  const words = clean(query.toLowerCase()).split(' ')
  const lower = text.toLowerCase()
  const at = Math.max(
    0,
    Math.min(...words.map((word) => lower.indexOf(word)).filter((index) => index >= 0), text.length),
  )
  const start = at < 36 || at === text.length ? 0 : text.indexOf(' ', at - 24) + 1
  const cut = text.slice(start, start + 130)
  return \`\${start > 0 ? '\u2026 ' : ''}\${cut}\${start + 130 < text.length ? ' \u2026' : ''}\`
}

/** The text in pieces; every second one matches a word of the query. */
export const splitMatches = (text: string, query: string): string[] => {
  const words = clean(query)
    .split(' ')
    .filter((word) => word !== '')
  return words.length === 0 ? [text] : text.split(new RegExp(\`(\${words.map(escapePattern).join('|')})\`, 'iu'))
}
`;var send_default=`import { serverUrl } from './dom.ts'
import type { TryItOperation } from './try-it-data.ts'

export interface FormValues {
  /** Of parameters, by name. An empty one is not sent. */
  parameters: Record<string, string>
  body: string
  /** Sent instead of \`body\`, where the body is a file. */
  file: File | undefined
  key: string
}

export interface Received {
  status: number
  statusText: string
  headers: [string, string][]
  /** Undefined if it is not text. */
  text: string | undefined
  milliseconds: number
  bytes: number
}

/** Browsers drop the segments \`.\` and \`..\`, and some proxies an empty one. The request would name something else. */
export const isSegment = (value: string): boolean => !['', '.', '..'].includes(value)

/** The name of a file has several segments, all others have one. */
export const segmentsOf = (name: string, value: string): string[] => (name === 'name' ? value.split('/') : [value])

const encoded = (name: string, value: string): string => segmentsOf(name, value).map(encodeURIComponent).join('/')

/** The path and query string that the form asks for. */
export const targetOf = (operation: TryItOperation, values: Record<string, string>): string => {
  const path = operation.path.replace(/\\{(\\w+)\\}/g, (_, name: string) => encoded(name, values[name] ?? ''))
  const query = new URLSearchParams()
  for (const { name, place } of operation.parameters) {
    const value = values[name] ?? ''
    if (place === 'query' && value !== '') query.set(name, value)
  }
  return query.size === 0 ? path : \`\${path}?\${query}\`
}

const headersOf = (operation: TryItOperation, { parameters, body, key }: FormValues): Headers => {
  const headers = new Headers()
  for (const { name, place } of operation.parameters) {
    const value = parameters[name] ?? ''
    if (place === 'header' && value !== '') headers.set(name, value)
  }
  if (operation.needsKey && key !== '') headers.set('Authorization', \`Bearer \${key}\`)
  if (operation.hasBody && !operation.takesBytes && body.trim() !== '') headers.set('Content-Type', 'application/json')
  return headers
}

/** A Blob of no type: with a string the browser would add one, and the type would not follow the name of the file. */
const bodyOf = ({ hasBody, takesBytes }: TryItOperation, { body, file }: FormValues): BodyInit | undefined => {
  if (takesBytes) return file ?? new Blob([body])
  return hasBody && body.trim() !== '' ? body : undefined
}

const isText = (type: string | null): boolean => type === null || /^text\\/|json|xml|javascript/i.test(type)

export const send = async (operation: TryItOperation, values: FormValues, signal: AbortSignal): Promise<Received> => {
  const start = performance.now()
  const response = await fetch(serverUrl() + targetOf(operation, values.parameters), {
    method: operation.method,
    headers: headersOf(operation, values),
    body: bodyOf(operation, values),
    cache: 'no-store',
    credentials: 'omit',
    redirect: 'error',
    signal,
  })
  const bytes = await response.arrayBuffer()
  return {
    status: response.status,
    statusText: response.statusText,
    headers: [...response.headers],
    text: isText(response.headers.get('content-type')) ? new TextDecoder().decode(bytes) : undefined,
    milliseconds: performance.now() - start,
    bytes: bytes.byteLength,
  }
}
`;var try_it_default=`import { all, create, serverUrl } from './dom.ts'
import { isSegment, segmentsOf, send, targetOf } from './send.ts'
import { answerView, failureView } from './try-it-answer.ts'
import type { TryItExample, TryItOperation } from './try-it-data.ts'

// A form that sends a request to this server. The API key exists only as the value of one input: it is written to no storage,
// no attribute and no address, and it is gone when the page is closed or loaded again.

/** Said before it is sent. */
const warnings = { reads: '', changes: 'changes data on this server', deletes: 'deletes data on this server' }

/** The input of the API key. It is not of the type \`password\`: browsers would offer to store it. */
const createKeyInput = (): HTMLInputElement =>
  create('input', {
    id: 'api-key',
    type: 'text',
    class: 'secret',
    autocomplete: 'off',
    autocapitalize: 'off',
    spellcheck: 'false',
    placeholder: 'svc_live_\u2026 or svc_pub_\u2026',
  })

const labelled = (label: string, note: string, input: HTMLElement): HTMLElement =>
  create('div', { class: 'row' }, create('label', { for: input.id }, label, ' ', create('small', {}, note)), input)

class TryIt {
  readonly #operations: Record<string, TryItOperation>
  readonly #dialog = create('dialog', { class: 'try', 'aria-labelledby': 'try-title' })
  readonly #title = create('h2', { id: 'try-title' })
  readonly #form = create('form', { novalidate: '' })
  readonly #key = createKeyInput()
  readonly #fields = create('div', { class: 'rows' })
  readonly #body = create('textarea', { id: 'try-body', spellcheck: 'false', rows: '10' })
  readonly #file = create('input', { id: 'try-file', type: 'file' })
  readonly #line = create('p', { class: 'line' })
  readonly #problem = create('p', { class: 'problem', role: 'alert' })
  readonly #send = create('button', { class: 'primary' }, 'Send')
  readonly #answer = create('div', { class: 'received', role: 'region', 'aria-label': 'Answer', 'aria-live': 'polite' })
  #inputs: Record<string, HTMLInputElement> = {}
  #operation: TryItOperation | undefined
  /** The request that is under way. */
  #request: AbortController | undefined

  constructor(operations: Record<string, TryItOperation>) {
    this.#operations = operations
    const close = create('button', { type: 'button', class: 'quiet' }, 'Close')
    close.addEventListener('click', () => this.#dialog.close())
    const note = create('small', { class: 'hint' }, 'Ctrl and Enter send too.')
    const actions = create('div', { class: 'actions' }, this.#send, note)
    this.#form.append(this.#fields, this.#problem, this.#line, actions)
    this.#dialog.append(create('div', { class: 'head' }, this.#title, close), this.#form, this.#answer)
    document.body.append(this.#dialog)
    this.#form.addEventListener('input', () => this.#update())
    this.#form.addEventListener('submit', (event) => {
      event.preventDefault()
      this.#submit()
    })
    this.#form.addEventListener('keydown', (event) => {
      if (event.key !== 'Enter') return
      if (event.ctrlKey || event.metaKey) this.#form.requestSubmit()
      // In an input Enter would send, which is too easy for what changes data.
      else if (event.target instanceof HTMLInputElement && this.#operation!.effect !== 'reads') event.preventDefault()
    })
    this.#dialog.addEventListener('close', () => {
      this.#request?.abort()
      this.#request = undefined
      this.#showSending()
    })
    this.#dialog.addEventListener('click', (event) => {
      if (event.target === this.#dialog) this.#dialog.close()
    })
  }

  /** Fills the form with an example of the operation. The key stays. */
  open(id: string, example: string): void {
    const operation = this.#operations[id]!
    const { values, body }: Pick<TryItExample, 'values' | 'body'> = operation.examples[example] ?? {
      values: {},
      body: '',
    }
    this.#operation = operation
    this.#title.textContent = operation.title
    this.#inputs = {}
    const rows = operation.parameters.map(({ name, place, required }) => {
      const input = create('input', { id: \`try-\${name}\`, type: 'text', autocomplete: 'off', spellcheck: 'false' })
      input.value = values[name] ?? ''
      if (required) input.required = true
      this.#inputs[name] = input
      return labelled(name, required ? place : \`\${place}, optional\`, input)
    })
    if (operation.needsKey)
      rows.unshift(labelled('API key', 'kept in memory only, until this page is closed', this.#key))
    if (operation.takesBytes) rows.push(labelled('File', 'its bytes are the body', this.#file))
    if (operation.hasBody)
      rows.push(labelled('Body', operation.takesBytes ? 'text, if no file is chosen' : 'JSON', this.#body))
    this.#file.value = ''
    this.#body.value = body
    this.#body.rows = Math.max(4, Math.min(20, body.split('\\n').length + 1))
    this.#fields.replaceChildren(...rows)
    this.#answer.replaceChildren()
    this.#update()
    this.#dialog.showModal()
    this.#dialog.scrollTop = 0
    // Enter on the focused button sends, so it has the focus only if nothing is changed.
    if (operation.needsKey && (operation.effect !== 'reads' || this.#key.value === '')) this.#key.focus()
    else this.#send.focus({ preventScroll: true })
  }

  #values(): Record<string, string> {
    return Object.fromEntries(Object.entries(this.#inputs).map(([name, input]) => [name, input.value]))
  }

  /** Why the form cannot be sent, and the input to correct. */
  #refusal(): [string, HTMLInputElement] | undefined {
    for (const { name, place, required } of this.#operation!.parameters) {
      const input = this.#inputs[name]!
      if (required && input.value === '') return [\`\${name} is empty; the request needs it.\`, input]
      if (place === 'path' && !segmentsOf(name, input.value).every(isSegment))
        return [\`\${name} is "\${input.value}", which no path can have.\`, input]
    }
    if (this.#operation!.needsKey && /[^\\x21-\\x7e]/.test(this.#key.value.trim())) {
      return ['The API key has characters that no key has.', this.#key]
    }
    return undefined
  }

  /** What is wrong with the body. It is sent all the same: the answer to invalid JSON is worth seeing too. */
  #bodyFault(): string {
    const { hasBody, takesBytes } = this.#operation!
    if (!hasBody || takesBytes || this.#body.value.trim() === '') return ''
    try {
      JSON.parse(this.#body.value)
      return ''
    } catch (error) {
      return \`The body is not JSON: \${(error as Error).message}\`
    }
  }

  #update(): void {
    const { method, effect } = this.#operation!
    const target = targetOf(this.#operation!, this.#values())
    this.#line.replaceChildren(
      create('b', {}, method),
      \` \${serverUrl()}\${target}\`,
      ...(effect === 'reads' ? [] : [create('small', { class: effect }, \` \${warnings[effect]}\`)]),
    )
    this.#problem.textContent = this.#refusal()?.[0] ?? this.#bodyFault()
  }

  /** A disabled button would lose the focus. */
  #showSending(): void {
    const sending = this.#request !== undefined
    this.#send.textContent = sending ? 'Sending \u2026' : 'Send'
    this.#send.setAttribute('aria-disabled', String(sending))
  }

  async #submit(): Promise<void> {
    const refusal = this.#refusal()
    if (refusal !== undefined) return refusal[1].focus()
    // A second click must not write twice.
    if (this.#request !== undefined) return
    this.#request = new AbortController()
    const { signal } = this.#request
    this.#showSending()
    const [file] = this.#file.files ?? []
    const values = { parameters: this.#values(), body: this.#body.value, file, key: this.#key.value.trim() }
    const shown = await send(this.#operation!, values, signal).then(answerView, failureView)
    // The form was closed; it may be that of another operation now.
    if (signal.aborted) return
    this.#request = undefined
    this.#showSending()
    this.#answer.replaceChildren(shown)
    this.#answer.scrollIntoView({ block: 'nearest' })
  }
}

export const startTryIt = (): void => {
  const data = document.getElementById('operations')!.textContent!
  const operations = JSON.parse(data) as Record<string, TryItOperation>
  const tryIt = new TryIt(operations)
  for (const box of all('.examples[data-operation]')) {
    if (!Object.hasOwn(operations, box.dataset.operation!)) continue
    const button = create('button', { type: 'button', class: 'try-it' }, 'Try it')
    button.addEventListener('click', () => {
      const open = box.querySelector<HTMLElement>('details[open]')
      tryIt.open(box.dataset.operation!, open?.dataset.example ?? '')
    })
    box.querySelector('.tools')!.append(button)
  }
}
`;var try_it_answer_default=`import { create } from './dom.ts'
import { highlightNow } from './highlight.ts'
import { indentJson } from './json-layout.ts'
import { markScrollers } from './scrollers.ts'
import type { Received } from './send.ts'

/** Longer text would make the page slow; the rest is left out. */
const shownCharactersMax = 200_000

const bodyView = (text: string | undefined): HTMLElement => {
  if (text === undefined) return create('p', { class: 'note' }, 'The body is not text; it is not shown.')
  if (text === '') return create('p', { class: 'note' }, 'No body.')
  const whole = indentJson(text)
  const pre = create('pre', { 'data-syntax': 'json' }, whole.slice(0, shownCharactersMax))
  if (whole.length <= shownCharactersMax) return pre
  return create(
    'div',
    {},
    pre,
    create('p', { class: 'note' }, \`The first \${shownCharactersMax.toLocaleString('en-US')} characters.\`),
  )
}

export const answerView = ({ status, statusText, headers, text, milliseconds, bytes }: Received): HTMLElement => {
  const kind = status < 400 ? 'ok' : 'bad'
  const facts = \`\${Math.round(milliseconds)} ms \xB7 \${bytes.toLocaleString('en-US')} bytes\`
  const list = headers.map(([name, value]) => \`\${name}: \${value}\`).join('\\n')
  const view = create(
    'div',
    {},
    create(
      'p',
      { class: 'label' },
      create('span', { class: \`status \${kind}\` }, \`\${status} \${statusText}\`.trim()),
      \` \${facts}\`,
    ),
    create('details', { class: 'headers' }, create('summary', {}, 'Headers'), create('pre', {}, list)),
    bodyView(text),
  )
  // After it is in the page.
  requestAnimationFrame(() => {
    markScrollers(view)
    for (const pre of view.querySelectorAll<HTMLElement>('pre[data-syntax]')) highlightNow(pre)
  })
  return view
}

/** The browser does not say why: the server is gone, or something between refused. */
export const failureView = (error: unknown): HTMLElement => {
  const reason = error instanceof Error ? error.message : String(error)
  return create(
    'p',
    { class: 'problem' },
    \`No answer came (\${reason}). Is the server running, and can this page reach it?\`,
  )
}
`;var style_default=`/* biome-ignore-all lint/style/noDescendingSpecificity: rules are ordered by the parts of the page. */
/* The tokens of the product. */
:root {
  color-scheme: light dark;
  --bg: #ffffff;
  --surface: #f6f7f7;
  --raised: #ffffff;
  --hover: #eef1f1;
  --line: #dfe3e3;
  --control: #848e8e;
  --text: #15191a;
  --muted: #566061;
  --accent: #0a6b66;
  --on-accent: #ffffff;
  --accent-soft: #e0f2f0;
  --danger: #b3261e;
  --danger-soft: #fdecea;
  --warn: #8a5300;
  --ok: #1d6f42;
  --ok-soft: #e4f4ea;
  --string: #1d6f42;
  --number: #1a56b8;
  --boolean: #7a3aa8;
  --shade: rgb(15 18 19 / 40%);
  --shadow: 0 12px 40px rgb(15 18 19 / 18%);
  --ui: system-ui, -apple-system, "Segoe UI", Roboto, "Helvetica Neue", sans-serif;
  --mono: ui-monospace, SFMono-Regular, Menlo, Consolas, "DejaVu Sans Mono", monospace;
  --bar: 48px;
}

@media (prefers-color-scheme: dark) {
  :root {
    --bg: #0f1213;
    --surface: #161a1b;
    --raised: #1c2122;
    --hover: #232a2b;
    --line: #2b3233;
    --control: #758182;
    --text: #e9eded;
    --muted: #9ba6a7;
    --accent: #58cfc5;
    --on-accent: #06201e;
    --accent-soft: #12302e;
    --danger: #ff8a80;
    --danger-soft: #3a1a18;
    --warn: #f2b45c;
    --ok: #6fd39a;
    --ok-soft: #15301f;
    --string: #8ddba8;
    --number: #8db8ff;
    --boolean: #d3a6f5;
    --shade: rgb(0 0 0 / 60%);
    --shadow: 0 12px 40px rgb(0 0 0 / 50%);
  }
}

/* Text */
* {
  box-sizing: border-box;
}
[hidden] {
  display: none;
}
html {
  scroll-padding-top: calc(var(--bar) + 24px);
  text-size-adjust: 100%;
}
body {
  margin: 0;
  background: var(--bg);
  color: var(--text);
  font: 15px / 24px var(--ui);
  /* A long word may break only if it does not fit into a line of its own. */
  overflow-wrap: break-word;
}
h1,
h2,
h3,
h4,
p,
ul,
dl,
dd,
pre {
  margin: 0;
  padding: 0;
}
h1 {
  font-size: 28px;
  line-height: 36px;
  font-weight: 600;
}
h2 {
  font-size: 20px;
  line-height: 28px;
  font-weight: 600;
}
h3 {
  font-size: 17px;
  line-height: 24px;
  font-weight: 600;
}
h4 {
  margin: 24px 0 8px;
  font-size: 13px;
  line-height: 20px;
  font-weight: 600;
}
h2 a,
h3 a {
  color: inherit;
  text-decoration: none;
}
h2 a:hover,
h3 a:hover {
  text-decoration: underline;
}
code,
pre,
kbd,
.method,
.line {
  font-family: var(--mono);
  font-size: 12.5px;
  line-height: 20px;
}
p code:not(.long),
li code:not(.long) {
  white-space: nowrap;
}
p code,
li code {
  padding: 1px 4px;
  border-radius: 4px;
  background: var(--surface);
}
var {
  color: var(--accent);
  font-style: normal;
}
a {
  color: var(--accent);
  text-decoration-thickness: 1px;
  text-underline-offset: 2px;
}
a > code {
  color: inherit;
}
/* An underline must not hide underscores. */
a:has(> code) {
  text-underline-offset: 5px;
}
:focus-visible {
  outline: 2px solid var(--accent);
  outline-offset: 2px;
}
main:focus-visible,
[data-find]:focus {
  outline: none;
}
.lead {
  margin: 4px 0 16px;
  color: var(--muted);
  font-size: 17px;
  line-height: 26px;
}
.note,
.type,
.place,
.given,
small {
  color: var(--muted);
  font-size: 13px;
  line-height: 20px;
}
.text > p + p,
.text > ul + p,
.topic > p,
.topic > ul,
.topic > dl,
.group > p {
  margin-top: 8px;
}
.topic > ul,
.text > ul {
  padding-left: 20px;
}
.text > ul {
  margin: 4px 0;
}
mark {
  border-radius: 2px;
  background: var(--accent-soft);
  color: inherit;
  font-weight: 600;
}
::highlight(string) {
  color: var(--string);
}
::highlight(number) {
  color: var(--number);
}
::highlight(boolean) {
  color: var(--boolean);
}
::highlight(null) {
  color: var(--muted);
}

/* Controls */
button,
select,
input,
textarea {
  border: 1px solid var(--control);
  border-radius: 6px;
  background: var(--raised);
  color: inherit;
  font: 13px / 20px var(--ui);
}
button,
select {
  min-height: 28px;
  padding: 3px 10px;
}
button {
  cursor: pointer;
  font-weight: 500;
}
button:hover {
  background: var(--hover);
}
[aria-disabled="true"] {
  cursor: default;
}
.quiet,
.try-it {
  border-color: var(--line);
}
.primary {
  border-color: var(--accent);
  background: var(--accent);
  color: var(--on-accent);
}
.primary:hover {
  background: var(--accent);
  text-decoration: underline;
}
input,
textarea {
  width: 100%;
  padding: 3px 8px;
}
textarea,
.rows input {
  font-family: var(--mono);
  font-size: 12.5px;
}
.secret {
  -webkit-text-security: disc;
}
kbd {
  padding: 0 5px;
  border: 1px solid var(--line);
  border-radius: 4px;
  color: var(--muted);
  font-size: 11px;
  line-height: 16px;
}
.skip {
  position: fixed;
  z-index: 3;
  top: 8px;
  left: -999px;
  padding: 4px 12px;
  border-radius: 6px;
  background: var(--raised);
}
.skip:focus {
  left: 8px;
}

/* Bar */
.bar {
  position: sticky;
  z-index: 2;
  top: 0;
  display: flex;
  gap: 12px;
  align-items: center;
  height: var(--bar);
  padding: 0 16px;
  border-bottom: 1px solid var(--line);
  background: var(--bg);
  font-size: 13px;
  line-height: 20px;
}
.brand {
  display: flex;
  gap: 8px;
  align-items: center;
  color: inherit;
  text-decoration: none;
  white-space: nowrap;
}
.brand b {
  font-size: 15px;
  font-weight: 600;
}
.brand span,
.quiet-link {
  color: var(--muted);
}
.quiet-link {
  margin-left: auto;
}
.mark {
  color: var(--accent);
}
.open-search {
  display: flex;
  justify-content: space-between;
  align-items: center;
  width: min(320px, 30vw);
  margin-left: auto;
  color: var(--muted);
  font-weight: 400;
}
.open-search[hidden] {
  display: none;
}
.open-search:not([hidden]) + .quiet-link {
  margin-left: 0;
}

/* Contents */
#contents {
  overflow-y: auto;
  border: 0;
  background: var(--surface);
  color: inherit;
  font-size: 13px;
  line-height: 20px;
}
#contents .close {
  position: sticky;
  top: 12px;
  margin-top: 12px;
}
#contents .title {
  margin: 16px 8px 4px;
  color: var(--muted);
  font-size: 12px;
  font-weight: 600;
  line-height: 16px;
}
#contents ul {
  list-style: none;
}
#contents a {
  display: flex;
  gap: 8px;
  justify-content: space-between;
  align-items: baseline;
  padding: 4px 8px;
  border-radius: 6px;
  color: inherit;
  text-decoration: none;
}
#contents a:hover {
  background: var(--hover);
}
#contents a[aria-current] {
  background: var(--accent-soft);
  color: var(--accent);
  font-weight: 500;
}
#contents .method {
  color: var(--muted);
  font-size: 11px;
  font-weight: 400;
}
#contents [aria-current] .method {
  color: inherit;
}

/* Sections */
.layout {
  display: grid;
  grid-template-columns: 264px minmax(0, 1fr);
}
main {
  min-width: 0;
  max-width: 1240px;
  padding: 0 clamp(16px, 3vw, 48px) 96px;
}
main > section {
  padding-top: 48px;
}
main > .topic {
  max-width: 720px;
}
.operation,
.schema {
  margin-top: 40px;
  padding-top: 32px;
  border-top: 1px solid var(--line);
}
.schema {
  margin-top: 24px;
  padding-top: 24px;
}
.route {
  display: flex;
  flex-wrap: wrap;
  gap: 0 12px;
  align-items: baseline;
  margin: 8px 0 12px;
}
.route code {
  padding: 0;
  background: none;
  font-size: 13px;
}
.method {
  font-weight: 600;
}
.method.delete {
  color: var(--danger);
}
.key {
  color: var(--muted);
  font-size: 13px;
}
.fields > div {
  padding: 10px 0;
  border-top: 1px solid var(--line);
}
.fields > div:last-child {
  border-bottom: 1px solid var(--line);
}
/* The next schema begins with a line. */
.schema > .fields > div:last-child {
  border-bottom: 0;
  padding-bottom: 0;
}
.fields .fields {
  margin: 8px 0 0;
  padding-left: 16px;
  border-left: 2px solid var(--line);
}
.fields .fields > div:first-child {
  border-top: 0;
  padding-top: 0;
}
.fields .fields > div:last-child {
  border-bottom: 0;
  padding-bottom: 0;
}
.fields dt {
  display: flex;
  flex-wrap: wrap;
  gap: 0 8px;
  align-items: baseline;
}
.fields dt > code {
  font-weight: 600;
}
.fields dd > p {
  margin-top: 2px;
  font-size: 14px;
  line-height: 22px;
}
.required {
  color: var(--warn);
  font-size: 12px;
  line-height: 20px;
}
.alternative {
  margin-top: 24px;
}
.alternative .name {
  font-size: 14px;
  font-weight: 600;
}
.alternative > p + p {
  margin-top: 4px;
}
.alternative > dl,
.schema > dl {
  margin-top: 12px;
}
.fields dd > .note {
  font-size: 13px;
  line-height: 20px;
}
.note + .fields {
  margin-top: 8px;
}
.nested summary {
  margin-top: 4px;
  color: var(--muted);
  cursor: pointer;
  font-size: 13px;
  line-height: 20px;
}
.answers > div {
  display: grid;
  grid-template-columns: 40px minmax(0, 1fr);
  gap: 8px;
  padding: 4px 0;
  font-size: 14px;
}
.answers dt {
  font-weight: 600;
  font-variant-numeric: tabular-nums;
}
.codes {
  display: flex;
  flex-wrap: wrap;
  gap: 0 12px;
}
.codes a {
  text-decoration: none;
}
.codes a:hover {
  text-decoration: underline;
}
.codes code {
  padding: 0;
  background: none;
}
.found {
  animation: found 2s ease-out;
}
@keyframes found {
  from {
    background: var(--accent-soft);
    box-shadow: 0 0 0 8px var(--accent-soft);
  }
}

/* Examples */
.examples,
.beside {
  min-width: 0;
  margin-top: 24px;
}
.beside .answer {
  margin-top: 0;
}
pre {
  overflow: auto;
  padding: 12px 16px;
  white-space: pre;
  tab-size: 4;
}
.request,
.answer {
  overflow: hidden;
  border: 1px solid var(--line);
  border-radius: 6px;
  background: var(--surface);
}
.answer {
  margin-top: 12px;
}
.label {
  padding: 6px 16px;
  border-bottom: 1px solid var(--line);
  color: var(--muted);
  font-size: 12px;
  line-height: 20px;
}
.given {
  padding: 8px 16px;
  border-bottom: 1px solid var(--line);
}
.answer .note {
  padding: 12px 16px;
}
.status {
  margin-left: 8px;
  padding: 1px 6px;
  border-radius: 4px;
  font-size: 12px;
  font-weight: 600;
  font-variant-numeric: tabular-nums;
}
.status.ok {
  background: var(--ok-soft);
  color: var(--ok);
}
.status.bad {
  background: var(--danger-soft);
  color: var(--danger);
}
.examples summary {
  padding: 8px 0;
  cursor: pointer;
  font-size: 14px;
}
.chooser select {
  width: 100%;
  margin-bottom: 8px;
  text-overflow: ellipsis;
}
.tools {
  display: flex;
  flex-wrap: wrap;
  gap: 8px;
  align-items: center;
  margin-bottom: 8px;
}
[role="tablist"] {
  display: flex;
  flex: 1;
  gap: 2px;
}
[role="tab"] {
  padding: 3px 8px;
  border-color: transparent;
  background: none;
  color: var(--muted);
}
[role="tab"]:hover {
  background: var(--hover);
}
[role="tab"][aria-selected="true"] {
  background: var(--accent-soft);
  color: var(--accent);
}
.scripted .examples summary,
.scripted .code > .label,
.scripted .examples details:not([open]) {
  display: none;
}
.scripted[data-language="curl"] .code:not([data-language="curl"]),
.scripted[data-language="typescript"] .code:not([data-language="typescript"]),
.scripted[data-language="python"] .code:not([data-language="python"]) {
  display: none;
}
.code + .code > .label {
  border-top: 1px solid var(--line);
}

/* What floats */
dialog {
  padding: 0;
  border: 1px solid var(--line);
  background: var(--bg);
  color: inherit;
  box-shadow: var(--shadow);
}
dialog::backdrop,
#contents::backdrop {
  background: var(--shade);
}
dialog .head {
  display: flex;
  gap: 12px;
  align-items: center;
}
.search {
  width: min(680px, calc(100vw - 24px));
  max-height: min(640px, calc(100dvh - 24px));
  margin: min(12vh, 96px) auto auto;
  border-radius: 10px;
}
.search[open] {
  display: flex;
  flex-direction: column;
}
.search .head {
  padding: 12px;
  border-bottom: 1px solid var(--line);
}
.search .head input {
  min-height: 36px;
  font-size: 15px;
}
#results {
  overflow-y: auto;
  padding: 4px;
}
[role="option"] {
  padding: 8px 12px;
  border-radius: 6px;
  cursor: pointer;
  font-size: 13px;
  line-height: 20px;
}
[role="option"][aria-selected="true"] {
  background: var(--hover);
  box-shadow: inset 2px 0 var(--accent);
}
[role="option"] .title {
  font-weight: 600;
}
[role="option"] .path,
[role="option"] .excerpt {
  color: var(--muted);
}
[role="option"] .excerpt {
  overflow: hidden;
  text-overflow: ellipsis;
  white-space: nowrap;
}
[role="option"] mark {
  color: var(--text);
}
.search .foot {
  padding: 8px 16px;
  border-top: 1px solid var(--line);
}
.try {
  width: min(720px, 100vw);
  max-width: 100vw;
  height: 100dvh;
  max-height: 100dvh;
  margin: 0 0 0 auto;
  border-width: 0 0 0 1px;
}
.try .head {
  position: sticky;
  z-index: 1;
  top: 0;
  justify-content: space-between;
  padding: 12px 24px;
  border-bottom: 1px solid var(--line);
  background: var(--bg);
}
.try h2 {
  font-size: 15px;
  line-height: 20px;
}
.try form,
.received {
  padding: 16px 24px;
}
.rows {
  display: grid;
  gap: 12px;
}
.row {
  display: grid;
  grid-template-columns: 180px minmax(0, 1fr);
  gap: 4px 16px;
  align-items: baseline;
}
.row label {
  font-size: 13px;
  font-weight: 500;
  line-height: 20px;
  overflow-wrap: break-word;
}
.row small {
  display: block;
  font-size: 12px;
  font-weight: 400;
  line-height: 16px;
}
textarea {
  min-height: 88px;
  resize: vertical;
  white-space: pre;
}
.problem {
  margin-top: 12px;
  color: var(--danger);
  font-size: 13px;
  line-height: 20px;
}
.problem:empty {
  display: none;
}
.line {
  margin-top: 16px;
  overflow-wrap: anywhere;
}
.line small {
  font-family: var(--ui);
  color: var(--warn);
}
.line .deletes {
  color: var(--danger);
  font-weight: 600;
}
.actions {
  display: flex;
  gap: 12px;
  align-items: center;
  margin-top: 12px;
}
.received:empty {
  display: none;
}
.received {
  border-top: 1px solid var(--line);
}
.received .label {
  padding: 0;
  border: 0;
}
.received .status {
  margin: 0 8px 0 0;
}
.received pre {
  margin-top: 8px;
  border: 1px solid var(--line);
  border-radius: 6px;
  background: var(--surface);
}
.headers summary {
  margin-top: 8px;
  cursor: pointer;
  font-size: 13px;
  line-height: 20px;
}

/* Screens */
@media (min-width: 768px) {
  .menu,
  #contents .close {
    display: none;
  }
  #contents {
    position: sticky;
    top: var(--bar);
    display: block;
    width: auto;
    height: calc(100dvh - var(--bar));
    margin: 0;
    padding: 0 8px 24px;
    border-right: 1px solid var(--line);
  }
}
@media (min-width: 1200px) {
  .columns {
    display: grid;
    grid-template-columns: minmax(0, 1fr) minmax(0, 1fr);
    /* The second row takes the height that the example has more than the text. */
    grid-template-rows: auto 1fr;
    gap: 0 48px;
    align-items: start;
  }
  .examples,
  .beside {
    grid-column: 2;
    grid-row: 1 / span 2;
    margin-top: 0;
  }
  /* Without a script all languages are shown, and the example may be taller than the screen. */
  .scripted .examples {
    position: sticky;
    top: calc(var(--bar) + 24px);
  }
  /* What is longer than the screen scrolls inside its block. */
  .scripted .examples pre {
    max-height: calc(50dvh - 100px);
  }
}
@media (max-width: 767px) {
  html {
    scroll-padding-top: calc(var(--bar) + 12px);
  }
  .layout {
    display: block;
  }
  .brand span,
  .open-search kbd,
  .quiet-link {
    display: none;
  }
  .open-search {
    width: auto;
    color: inherit;
    font-weight: 500;
  }
  #contents {
    inset: 0 auto 0 0;
    width: min(320px, 86vw);
    height: 100dvh;
    margin: 0;
    padding: 0 8px 24px;
    box-shadow: var(--shadow);
  }
  main > section {
    padding-top: 32px;
  }
  .row {
    grid-template-columns: minmax(0, 1fr);
  }
  .row small {
    display: inline;
  }
  .try .head,
  .try form,
  .received {
    padding-right: 16px;
    padding-left: 16px;
  }
  .search {
    margin-top: 12px;
  }
}
@media (pointer: coarse) {
  :root {
    --bar: 56px;
  }
  .hint {
    display: none;
  }
  button,
  select,
  input,
  #contents a {
    min-height: 44px;
  }
  #contents a {
    align-items: center;
  }
  input,
  select,
  textarea {
    font-size: 16px;
  }
}
@media (prefers-reduced-motion: reduce) {
  .found {
    animation: none;
    background: var(--accent-soft);
  }
}
@media print {
  .bar,
  #contents,
  .tools,
  .chooser,
  .skip {
    display: none;
  }
  .layout,
  .columns {
    display: block;
  }
  .scripted .examples {
    position: static;
    margin-top: 16px;
  }
  .scripted .examples pre {
    max-height: none;
    white-space: pre-wrap;
  }
  .request,
  .answer,
  .fields > div {
    break-inside: avoid;
  }
}
`;var scriptSources={"contents.ts":contents_default,"copy.ts":copy_default,"dom.ts":dom_default,"examples.ts":examples_default,"highlight.ts":highlight_default,"json-layout.ts":json_layout_default,"main.ts":main_default,"reveal.ts":reveal_default,"scrollers.ts":scrollers_default,"search.ts":search_default,"search-index.ts":search_index_default,"send.ts":send_default,"try-it.ts":try_it_default,"try-it-answer.ts":try_it_answer_default};var folder="/cubby-docs";var bundleScript=async()=>{const files=Object.fromEntries(Object.entries(scriptSources).map(([name,text])=>[`${folder}/${name}`,text]));const{outputs}=await Bun.build({entrypoints:[`${folder}/main.ts`],files,target:"browser",format:"iife",minify:true});const text=await outputs[0].text();if(text.includes("</script"))throw new Error("the script of the page contains </script");return text.trim()};var pathValues=(template,path)=>{const given=path.split("/");const segments=template.split("/");const valueAt=(i)=>decodeURIComponent(i===segments.length-1?given.slice(i).join("/"):given[i]);const pairs=segments.flatMap((segment,i)=>segment.startsWith("{")?[[segment.slice(1,-1),valueAt(i)]]:[]);return Object.fromEntries(pairs)};var takesBytes=({requestBody})=>requestBody!==undefined&&requestBody.content["application/json"]===undefined;var exampleOf=(template,label,curl)=>{const{target,headers,body,bytes=""}=parseCurlLine(curl);const{pathname,searchParams}=new URL(target,"http://localhost");const values={...pathValues(template,pathname),...Object.fromEntries(searchParams),...headers};return{label,values,body:body===undefined?bytes:literal(body,json)}};var effectOf=({method,operation:{security}})=>{if(method==="get"||method==="head"||security.some((key)=>("publicKey"in key)))return"reads";return method==="delete"?"deletes":"changes"};var operationData=(document,entry)=>{const{method,path,operation}=entry;return{title:operation.summary,method:method.toUpperCase(),path,needsKey:operation.security.length>0,effect:effectOf(entry),hasBody:operation.requestBody!==undefined,takesBytes:takesBytes(operation),parameters:[...parametersOf2(document,entry).map(({name,in:place,required=false})=>({name,place,required})),...takesBytes(operation)?[{name:"Content-Type",place:"header",required:false}]:[]],examples:Object.fromEntries(samplesIn(operation).map(({example,label,curl})=>[example,exampleOf(path,label,curl)]))}};var tryItJson=(document,entries)=>{const shown=entries.filter(({method})=>method!=="options");const data=Object.fromEntries(shown.map((entry)=>[entry.operation.operationId,operationData(document,entry)]));return JSON.stringify(data).replaceAll("<","\\u003c")};var mark=new Html('<svg class="mark" viewBox="0 0 16 16" width="20" height="20" aria-hidden="true"><rect width="16" height="16" rx="3.5" fill="currentColor"/><path d="M11 5.6A4 4 0 1 0 11 10.4" fill="none" stroke="var(--on-accent)" stroke-width="2"/></svg>');var bar=({info})=>html`
<header class="bar">
<button type="button" class="quiet menu" popovertarget="contents">Contents</button>
<a class="brand" href="#top">${mark}<b>${info.title}</b> <span>HTTP API ${info.version}</span></a>
<button type="button" class="open-search" data-search hidden aria-keyshortcuts="/ Control+K">Search <kbd>/</kbd></button>
<a class="quiet-link" href="openapi.json">OpenAPI</a>
</header>`;var baseOf=({servers})=>servers[0].url==="/"?"http://127.0.0.1:4600":servers[0].url;var setup=(base)=>({curl:`export CUBBY_URL=${base}
export CUBBY_KEY=svc_live_\u2026

curl "$CUBBY_URL/v1" \\
  -H "Authorization: Bearer $CUBBY_KEY"`,typescript:`import { Cubby } from '@cubbydb/client'

const cubby = new Cubby({
  url: process.env.CUBBY_URL!,
  key: process.env.CUBBY_KEY!,
})
console.log(await cubby.databases())`,python:`import os

import requests

answer = requests.get(
    os.environ["CUBBY_URL"] + "/v1",
    headers={"Authorization": f"Bearer {os.environ['CUBBY_KEY']}"},
)
print(answer.json())`});var overview=(document)=>{const{info}=document;const base=baseOf(document);return html`
<section class="columns" id="top" data-find="topic">
<div class="text">
<h1>${info.title}</h1>
<p class="lead">${info.summary}</p>
${markdown(topicsOf(info.description).lead)}
<p>The examples read the address of the server and the API key from the environment: set <code>CUBBY_URL</code> to <code data-base>${base}</code>, and <code>CUBBY_KEY</code>. Those in TypeScript use the client, <code>@cubbydb/client</code>, where it has a method for the request, and otherwise <code>fetch</code>; those in Python use <code>requests</code>.</p>
</div>
<div class="examples" data-setup>
<div class="request">${codeViews(setup(base))}</div>
</div>
</section>`};var headersView=(label,lines)=>html`<div class="request"><p class="label">${label}</p><pre>${lines}</pre></div>`;var illustrations=({components})=>({"api-keys":headersView("Request with a key","Authorization: Bearer svc_live_\u2026"),answers:headersView("Headers of an answer",`Content-Type: application/json
Cache-Control: private, no-cache
X-Request-Id: HJ4c9fQ2-1z`),errors:answerView({status:400,headers:[],given:[],value:components.examples.invalid_request.value}),"versions-of-a-record":headersView("Answer, then a write that needs this version",`ETag: "1767780000000"

If-Match: "1767780000000"`)});var topics=(document)=>{const shown=illustrations(document);return topicsOf(document.info.description).topics.map(({id,title,text})=>html`
<section class="columns" id="${id}" data-find="topic"><div class="topic"><h2><a href="#${id}">${title}</a></h2>
${markdown(text)}</div>${shown[id]===undefined?"":html`<div class="beside">${shown[id]}</div>`}</section>`)};var schemaList=(document)=>html`
<section class="topic" id="schemas" data-group="Schemas"><h2><a href="#schemas">Schemas</a></h2>
<p>Requests must not have other members than these; answers may have more in later versions.</p>
${Object.entries(document.components.schemas).map(([name,schema])=>html`
<section class="schema" id="schema-${name}" data-find="schema"><h3><a href="#schema-${name}">${name}</a></h3>
${schema.description===undefined?"":html`<p>${inline(schema.description)}</p>`}
${schemaView(document,name,`schema-${name}`)}</section>`)}</section>`;var group2=(document,entries,name,description)=>html`
<section class="group" data-group="${name}"><h2>${name}</h2><p>${inline(description)}</p>
${entries.filter(({operation})=>operation.tags.includes(name)).map((entry)=>operationView(document,entry))}
</section>`;var icon="data:image/svg+xml,%3Csvg xmlns='http://www.w3.org/2000/svg' viewBox='0 0 16 16'%3E%3Crect width='16' height='16' rx='3' fill='%230a6b66'/%3E%3Cpath d='M11 5.6A4 4 0 1 0 11 10.4' fill='none' stroke='white' stroke-width='2'/%3E%3C/svg%3E";var hashOf=(text)=>`'sha256-${new Bun.CryptoHasher("sha256").update(text).digest("base64")}'`;var policyFor2=(script)=>["default-src 'none'",`style-src ${hashOf(style_default)}`,`script-src ${hashOf(script)}`,"connect-src 'self'","img-src data:","base-uri 'none'","form-action 'none'","frame-ancestors 'none'"].join("; ");var renderPage=async(document)=>{const entries=entriesOf(document);const script=await bundleScript();const{info,tags}=document;const page=html`<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<title>${info.title} HTTP API</title>
<link rel="icon" href="${new Html(icon)}">
<style>${new Html(style_default)}</style>
</head>
<body>
<a class="skip" href="#main">Skip to content</a>
${bar(document)}
<div class="layout">
${contentsView(document,entries)}
<main id="main" tabindex="-1">
${overview(document)}
${topics(document)}
${tags.map(({name,description})=>group2(document,entries,name,description))}
${errorsView(document)}
${schemaList(document)}
</main>
</div>
<script type="application/json" id="operations">${new Html(tryItJson(document,entries))}</script>
<script>${new Html(script)}</script>
</body>
</html>
`;return{html:page.text,contentSecurityPolicy:policyFor2(script)}};var reply=(message)=>self.postMessage(message);var bytesOf2=(text,headers)=>{const body=new TextEncoder().encode(text);const version=new Bun.CryptoHasher("sha256").update(body).digest("base64url").slice(0,22);return{body,gzipped:Bun.gzipSync(body,{level:9}),version,headers}};var make=async(publicUrl)=>{const document=makeDocument(publicUrl);reply({document:bytesOf2(JSON.stringify(document),{"Content-Type":"application/json"})});const{html,contentSecurityPolicy}=await renderPage(document);const headers={"Content-Type":"text/html; charset=utf-8","Content-Security-Policy":contentSecurityPolicy,"Referrer-Policy":"no-referrer"};reply({docs:bytesOf2(html,headers)})};self.onmessage=({data:{publicUrl}})=>{make(publicUrl).catch((error)=>reply({fault:String(error)}))};
