// @bun
var __create = Object.create;
var __getProtoOf = Object.getPrototypeOf;
var __defProp = Object.defineProperty;
var __getOwnPropNames = Object.getOwnPropertyNames;
var __hasOwnProp = Object.prototype.hasOwnProperty;
function __accessProp(key) {
  return this[key];
}
var __toESMCache_node;
var __toESMCache_esm;
var __toESM = (mod, isNodeMode, target) => {
  var canCache = mod != null && typeof mod === "object";
  if (canCache) {
    var cache = isNodeMode ? __toESMCache_node ??= new WeakMap : __toESMCache_esm ??= new WeakMap;
    var cached = cache.get(mod);
    if (cached)
      return cached;
  }
  target = mod != null ? __create(__getProtoOf(mod)) : {};
  const to = isNodeMode || !mod || !mod.__esModule || !__hasOwnProp.call(mod, "default") ? __defProp(target, "default", { value: mod, enumerable: true }) : target;
  if (mod && typeof mod === "object" || typeof mod === "function") {
    for (let key of __getOwnPropNames(mod))
      if (!__hasOwnProp.call(to, key))
        __defProp(to, key, {
          get: __accessProp.bind(mod, key),
          enumerable: true
        });
  }
  if (canCache)
    cache.set(mod, to);
  return to;
};
var __commonJS = (cb, mod) => () => (mod || cb((mod = { exports: {} }).exports, mod), mod.exports);
var __esm = (fn, res, err) => () => {
  if (fn)
    try {
      res = fn(fn = 0);
    } catch (e) {
      err = [e];
    }
  if (err)
    throw err[0];
  return res;
};
var __require = import.meta.require;

// src/core/limits.ts
var KIB = 1024, MIB, bodyBytesMax, batchBodyBytesMax, plainBodyBytesMax, requestHeadBytesMax, keyBytesMax = 1024, dataBytesMax = 409600, dataDepthMax = 64, ttlSecondsMax = 253402300799, ttlPastSecondsMax = 86400, batchOperationsMax = 25, findKeysMax = 100, indexFieldCharactersMax = 255, indexStringBytesMax = 1024, requestIdCharactersMax = 128, keyNameCharactersMax = 128, keyDatabasesMax = 100, cursorCharactersMax, pageRowsDefault = 100, pageRowsMax = 1000, countRowsMax = 1e4, pageBytesMax, pageExpiredRowsMax = 1e4, bodiesInFlightBytesMax, bodyMsMax = 30000, bodyChunksFreeMax = 4096, bodyChunkBytesMin = 256, bodyStreamBytes, bodyProgressBytesMin, answersUnsentBytesMax, answerIdleSecondsMax = 10, requestsInFlightMax = 16384, turnMsMax = 5000, connectionIdleSecondsMax = 60, writeQueueRequestsMax = 8192, writeQueueBytesMax, connectionQueueRequestsMax = 4096, commitRequestsMax = 256, commitBytesMax, apiKeyCacheEntriesMax = 1e4, tableCacheEntriesMax = 50000, lastUsedEntriesMax = 50000, recoveryMs, sweepGraceMs, clockJumpHoldMs, sweepEveryMs = 60000, sweepRowsMax = 50, checksumRowsMax = 100, lastUsedFlushMs = 30000, stopMsMax = 1e4;
var init_limits = __esm(() => {
  MIB = 1024 * KIB;
  bodyBytesMax = 1 * MIB;
  batchBodyBytesMax = 12 * MIB;
  plainBodyBytesMax = 64 * KIB;
  requestHeadBytesMax = 16 * KIB;
  cursorCharactersMax = 16 * KIB;
  pageBytesMax = 1 * MIB;
  bodiesInFlightBytesMax = 128 * MIB;
  bodyStreamBytes = 2 * MIB;
  bodyProgressBytesMin = 64 * KIB;
  answersUnsentBytesMax = 64 * MIB;
  writeQueueBytesMax = 128 * MIB;
  commitBytesMax = 8 * MIB;
  recoveryMs = 7 * 24 * 60 * 60 * 1000;
  sweepGraceMs = 5 * 60 * 1000;
  clockJumpHoldMs = 60 * 60 * 1000;
});

// src/core/describe-value.ts
var describeValue = (value) => {
  if (value === undefined)
    return "missing";
  if (value === null)
    return "null";
  if (Array.isArray(value))
    return "an array";
  if (typeof value === "object")
    return "an object";
  if (typeof value === "string") {
    const shown = value.length > 80 ? `${value.slice(0, 80)}\u2026` : value;
    return JSON.stringify(shown.toWellFormed());
  }
  return String(value);
};

// src/core/api-keys/mask-api-keys.ts
var maskApiKeys = (text) => text.replace(/svc_(live|pub)_[0-9A-Za-z]{8,}/g, "svc_$1_****");

// src/core/hint.ts
var call = (operation, input = {}) => ({ operation, input }), repeatLater, hintText = (hint, language) => {
  if (typeof hint === "string")
    return hint;
  const texts = hint.map((part) => {
    if (typeof part === "string")
      return part;
    if ("operation" in part)
      return language.call(part);
    if ("send" in part)
      return language.send(part.send);
    return "give" in part ? language.give(part.give) : language.repeatLater;
  });
  return texts.join("");
}, maskMember = (value) => typeof value === "string" ? maskApiKeys(value) : value, maskPart = (part) => {
  if (typeof part === "string")
    return maskApiKeys(part);
  if (!("operation" in part))
    return part;
  const input = Object.entries(part.input).map(([name, value]) => [name, maskMember(value)]);
  return { operation: part.operation, input: Object.fromEntries(input) };
}, maskHint = (hint) => typeof hint === "string" ? maskApiKeys(hint) : hint.map(maskPart);
var init_hint = __esm(() => {
  repeatLater = [{ repeat: "later" }, "."];
});

// src/core/errors.ts
var masked = (text) => text === undefined ? undefined : maskApiKeys(text), CubbyError2;
var init_errors = __esm(() => {
  init_hint();
  CubbyError2 = class CubbyError2 extends Error {
    name = "CubbyError";
    code;
    field;
    hint;
    constructor(code, message, details = {}) {
      super(maskApiKeys(message), { cause: details.cause });
      this.code = code;
      this.field = masked(details.field);
      this.hint = details.hint === undefined ? undefined : maskHint(details.hint);
    }
    within(prefix) {
      return new CubbyError2(this.code, this.message, {
        field: this.field === undefined ? prefix : `${prefix}.${this.field}`,
        hint: this.hint
      });
    }
  };
});

// src/core/names.ts
var pattern, isName = (name) => typeof name === "string" && pattern.test(name) && !name.startsWith("_"), parseName = (name, field) => {
  if (typeof name !== "string" || !pattern.test(name)) {
    throw new CubbyError2("invalid_name", `${field} is ${describeValue(name)}; a name matches [a-z0-9_-]{1,64}.`, {
      field,
      hint: 'Use 1 to 64 lower-case letters, digits, "_" or "-".'
    });
  }
  if (name.charCodeAt(0) === 95) {
    throw new CubbyError2("reserved_name", `${field} is "${name}"; names that start with "_" are reserved.`, {
      field,
      hint: `Drop the leading "_": "${name.replace(/^_+/, "") || "name"}".`
    });
  }
  return name;
};
var init_names = __esm(() => {
  init_errors();
  pattern = /^[a-z0-9_-]{1,64}$/;
});

// src/core/api-keys/api-key.ts
import { createHash, randomBytes } from "crypto";
var prefixes, alphabet = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz", pattern2, checksumLength = 6, randomBase62 = (length) => {
  let text = "";
  while (text.length < length) {
    for (const byte of randomBytes(length)) {
      if (byte < 248 && text.length < length)
        text += alphabet[byte % 62];
    }
  }
  return text;
}, checksum = (text) => {
  let rest = Bun.hash.crc32(text);
  let digits = "";
  for (let i = 0;i < checksumLength; i++) {
    digits = alphabet[rest % 62] + digits;
    rest = Math.floor(rest / 62);
  }
  return digits;
}, generateApiKey = (kind) => {
  const body = prefixes[kind] + randomBase62(32);
  return body + checksum(body);
}, generateKeyId = () => `key_${randomBase62(20)}`, isWellFormedApiKey = (text) => pattern2.test(text) && checksum(text.slice(0, -checksumLength)) === text.slice(-checksumLength), hashApiKey = (text) => createHash("sha256").update(text).digest("hex"), maskApiKey = (kind, lastFour) => `${prefixes[kind]}****${lastFour}`, makeApiKey = (request) => {
  const text = generateApiKey(request.kind);
  return {
    text,
    kept: {
      id: generateKeyId(),
      kind: request.kind,
      name: request.name ?? null,
      hash: hashApiKey(text),
      lastFour: text.slice(-4),
      databases: request.databases ?? null,
      expiresAtMs: request.expiresAtMs ?? null
    }
  };
}, refuse = (field, message, hint) => {
  throw new CubbyError2("invalid_request", `${field} ${message}`, { field, hint });
}, parseKeyKind = (value) => value === "secret" || value === "public" ? value : refuse("kind", `is ${describeValue(value)}; it takes "secret" or "public".`, "A public key reads, a secret key reads and writes."), parseKeyName = (value) => {
  if (value === undefined || value === null)
    return null;
  if (typeof value !== "string")
    return refuse("name", `is ${describeValue(value)}; it takes a string.`);
  const characters = [...value].length;
  if (characters < 1 || characters > keyNameCharactersMax || !value.isWellFormed()) {
    return refuse("name", `takes 1 to ${keyNameCharactersMax} well-formed characters.`);
  }
  return value;
}, parseExpiresAt = (value, nowMs) => {
  if (value === undefined || value === null)
    return null;
  if (!Number.isSafeInteger(value)) {
    return refuse("expiresAt", `is ${describeValue(value)}; it takes epoch milliseconds, an integer.`);
  }
  if (value <= nowMs) {
    const seconds = value < nowMs / 100 && value * 1000 > nowMs;
    return refuse("expiresAt", "is in the past; it takes a time in the future.", seconds ? "It looks like seconds; give milliseconds." : undefined);
  }
  return value;
}, parseKeyDatabases = (value) => {
  if (value === undefined || value === null)
    return null;
  if (!Array.isArray(value) || value.length < 1 || value.length > keyDatabasesMax) {
    return refuse("databases", `is ${Array.isArray(value) ? `an array of ${value.length}` : describeValue(value)}; it takes 1 to ${keyDatabasesMax} names.`, "Leave databases out to allow all of them.");
  }
  return [...new Set(value.map((name, i) => parseName(name, `databases[${i}]`)))];
};
var init_api_key = __esm(() => {
  init_errors();
  init_limits();
  init_names();
  prefixes = { secret: "svc_live_", public: "svc_pub_" };
  pattern2 = /^svc_(?:live|pub)_[0-9A-Za-z]{38}$/;
});

// src/core/text/json-scan.ts
class JsonScan {
  #text;
  #what;
  #at = 0;
  #level = 0;
  #objects = 0;
  #outer = [];
  #valueNext = true;
  constructor(text, what) {
    this.#text = text;
    this.#what = what;
  }
  run(units = Number.POSITIVE_INFINITY) {
    const text = this.#text;
    const pause = this.#at + units;
    let at = this.#at;
    let level = this.#level;
    let objects = this.#objects;
    let valueNext = this.#valueNext;
    while (at < pause) {
      let code = text.charCodeAt(at);
      while ((code === 32 || code === 10 || code === 13 || code === 9) && at < pause)
        code = text.charCodeAt(++at);
      if (at >= pause)
        break;
      if (valueNext) {
        if (code === quote) {
          const end = scanString(text, at);
          if (end === -1)
            throw this.#fault(at, "a value", level, objects);
          at = end;
          valueNext = false;
        } else if (code === openBrace) {
          if ((level & 31) === 0 && level > 0)
            this.#outer.push(objects);
          objects = objects << 1 | 1;
          level++;
          at = skipSpace(text, at + 1);
          if (text.charCodeAt(at) === closeBrace) {
            valueNext = false;
          } else {
            const end = scanName(text, at);
            if (end === -1)
              throw this.#nameFault(at, level);
            at = end;
          }
        } else if (code === openBracket) {
          if ((level & 31) === 0 && level > 0)
            this.#outer.push(objects);
          objects <<= 1;
          level++;
          at = skipSpace(text, at + 1);
          if (text.charCodeAt(at) === closeBracket)
            valueNext = false;
        } else {
          const end = scanScalar(text, at, code);
          if (end === -1)
            throw this.#fault(at, "a value", level, objects);
          at = end;
          valueNext = false;
        }
      } else if (level === 0) {
        if (at < text.length)
          throw this.#fault(at, "what follows a value", level, objects);
        break;
      } else if (code === comma) {
        at++;
        valueNext = true;
        if ((objects & 1) === 1) {
          at = skipSpace(text, at);
          const end = scanName(text, at);
          if (end === -1)
            throw this.#nameFault(at, level);
          at = end;
        }
      } else if (code === ((objects & 1) === 1 ? closeBrace : closeBracket)) {
        at++;
        level--;
        objects >>= 1;
        if ((level & 31) === 0 && level > 0)
          objects = this.#outer.pop();
      } else {
        throw this.#fault(at, "what follows a value", level, objects);
      }
    }
    this.#at = at;
    this.#level = level;
    this.#objects = objects;
    this.#valueNext = valueNext;
    return !valueNext && level === 0 && at === text.length;
  }
  #nameFault(at, level) {
    const text = this.#text;
    const end = text.charCodeAt(at) === quote ? scanString(text, at) : -1;
    if (end === -1)
      return this.#fault(at, "a name", level, 1);
    return this.#fault(skipSpace(text, end), "a colon", level, 1);
  }
  #fault(at, expected, level, objects) {
    const text = this.#text;
    const container = level === 0 ? undefined : (objects & 1) === 1 ? "object" : "array";
    try {
      JSON.parse(leadTo(text, at, expected, container) + text.slice(at));
    } catch (error) {
      return invalidJson(text, reasonOf(error), this.#what);
    }
    throw new Error("JSON.parse accepts a text that the scan rejects");
  }
}
var quote = 34, backslash = 92, comma = 44, colon = 58, openBracket = 91, closeBracket = 93, openBrace = 123, closeBrace = 125, skipSpace = (text, at) => {
  let code = text.charCodeAt(at);
  while (code === 32 || code === 10 || code === 13 || code === 9)
    code = text.charCodeAt(++at);
  return at;
}, lastBefore = (text, at) => {
  let code = text.charCodeAt(--at);
  while (code === 32 || code === 10 || code === 13 || code === 9)
    code = text.charCodeAt(--at);
  return at;
}, soughtQuotesMax = 16, skipString = (text, at) => {
  let close = text.indexOf('"', at + 1);
  for (let sought = 1;close !== -1 && sought <= soughtQuotesMax; sought++) {
    let before = close - 1;
    while (text.charCodeAt(before) === backslash)
      before--;
    if ((close - before) % 2 === 1)
      return close + 1;
    close = text.indexOf('"', close + 1);
  }
  if (close === -1)
    return -1;
  for (let i = text.lastIndexOf('"', close - 1) + 1;i < text.length; i++) {
    const code = text.charCodeAt(i);
    if (code === quote)
      return i + 1;
    if (code === backslash)
      i++;
  }
  return -1;
}, isHexDigit = (code) => code >= 48 && code <= 57 || code >= 97 && code <= 102 || code >= 65 && code <= 70, scanEscape = (text, at) => {
  switch (text.charCodeAt(at + 1)) {
    case quote:
    case backslash:
    case 47:
    case 98:
    case 102:
    case 110:
    case 114:
    case 116:
      return at + 2;
    case 117:
      for (let i = at + 2;i < at + 6; i++)
        if (!isHexDigit(text.charCodeAt(i)))
          return -1;
      return at + 6;
    default:
      return -1;
  }
}, shortStringUnits = 64, scanString = (text, at) => {
  const long = at + shortStringUnits;
  let i = at + 1;
  while (i < long) {
    const code = text.charCodeAt(i);
    if (code === quote)
      return i + 1;
    if (code === backslash) {
      i = scanEscape(text, i);
      if (i === -1)
        return -1;
    } else if (code >= 32) {
      i++;
    } else {
      return -1;
    }
  }
  return scanLongString(text, at, i);
}, scanLongString = (text, at, i) => {
  const end = text.indexOf('"', i) + 1;
  if (end === 0)
    return -1;
  const string = text.slice(at, end);
  if (!string.includes("\\")) {
    try {
      JSON.parse(string);
      return end;
    } catch {
      return -1;
    }
  }
  for (;; ) {
    const code = text.charCodeAt(i);
    if (code === quote)
      return i + 1;
    if (code === backslash) {
      i = scanEscape(text, i);
      if (i === -1)
        return -1;
    } else if (code >= 32) {
      i++;
    } else {
      return -1;
    }
  }
}, isDigit = (code) => code >= 48 && code <= 57, skipDigits = (text, at) => {
  while (isDigit(text.charCodeAt(at)))
    at++;
  return at;
}, scanNumber = (text, at) => {
  let i = text.charCodeAt(at) === 45 ? at + 1 : at;
  if (!isDigit(text.charCodeAt(i)))
    return -1;
  i = text.charCodeAt(i) === 48 ? i + 1 : skipDigits(text, i);
  if (text.charCodeAt(i) === 46) {
    if (!isDigit(text.charCodeAt(++i)))
      return -1;
    i = skipDigits(text, i);
  }
  const code = text.charCodeAt(i);
  if (code !== 101 && code !== 69)
    return i;
  const sign = text.charCodeAt(++i);
  if (sign === 43 || sign === 45)
    i++;
  return isDigit(text.charCodeAt(i)) ? skipDigits(text, i) : -1;
}, scanScalar = (text, at, code) => {
  switch (code) {
    case 116:
      return text.startsWith("true", at) ? at + 4 : -1;
    case 102:
      return text.startsWith("false", at) ? at + 5 : -1;
    case 110:
      return text.startsWith("null", at) ? at + 4 : -1;
    default:
      return scanNumber(text, at);
  }
}, scanName = (text, at) => {
  const end = text.charCodeAt(at) === quote ? scanString(text, at) : -1;
  if (end === -1)
    return -1;
  const next = skipSpace(text, end);
  return text.charCodeAt(next) === colon ? next + 1 : -1;
}, invalidJson = (text, reason, what) => {
  if (what !== undefined)
    return new CubbyError2("invalid_json", `${what} is not valid JSON: ${reason}.`);
  return new CubbyError2("invalid_json", `The body is not valid JSON: ${reason}.`, {
    hint: text.startsWith("\uFEFF") ? "Remove the byte order mark before the first character." : text.length === 0 ? "Send a JSON body." : "Send one JSON value in UTF-8."
  });
}, reasonOf = (error) => error.message.replace(/^JSON Parse error: /, "").slice(0, 200), smallUnits = 2048, cheapUnitsMax, cheapContainersMax = 200, isCheapToBuild = (text) => {
  if (text.length <= smallUnits)
    return true;
  if (text.length > cheapUnitsMax)
    return false;
  return hasAtMost(text, "{", cheapContainersMax) && hasAtMost(text, "[", cheapContainersMax);
}, hasAtMost = (text, unit, most) => {
  let at = -1;
  for (let found = 0;found <= most; found++) {
    at = text.indexOf(unit, at + 1);
    if (at < 0)
      return true;
  }
  return false;
}, parseJson = (text, what) => {
  try {
    return JSON.parse(text);
  } catch (error) {
    throw invalidJson(text, reasonOf(error), what);
  }
}, leadTo = (text, at, expected, container) => {
  const afterComma = text.charCodeAt(lastBefore(text, at)) === comma;
  switch (expected) {
    case "a name":
      return afterComma ? '{"":0,' : "{";
    case "a colon":
      return '{"" ';
    case "a value":
      return container === undefined ? "" : container === "object" ? '{"":' : afterComma ? "[0," : "[";
    case "what follows a value":
      return container === undefined ? "0 " : container === "object" ? '{"":0 ' : "[0 ";
  }
}, checkJson = (text, what) => {
  if (isCheapToBuild(text))
    parseJson(text, what);
  else
    new JsonScan(text, what).run();
};
var init_json_scan = __esm(() => {
  init_errors();
  cheapUnitsMax = 64 * 1024;
});

// src/core/steps.ts
var stepUnits, runThrough = (steps) => {
  for (;; ) {
    const step = steps.next();
    if (step.done === true)
      return step.value;
  }
};
var init_steps = __esm(() => {
  stepUnits = 128 * 1024;
});

// src/core/text/json-span.ts
class ObjectWalk {
  name = "";
  position = -1;
  at;
  #text;
  #path;
  #names;
  constructor(text, at, path) {
    this.#text = text;
    this.at = at;
    this.#path = path;
  }
  next() {
    const text = this.#text;
    const at = this.position < 0 ? inside(text, this.at) : behindValue(text, this.at);
    this.position++;
    if (text.charCodeAt(at) !== quote2) {
      this.at = at + 1;
      return false;
    }
    const nameEnd = skipString(text, at);
    this.name = unquote(text, at, nameEnd);
    if (this.#path !== undefined) {
      this.#names ??= new Set;
      refuseSecond(this.#names, this.name, this.#path);
    }
    this.at = skipSpace(text, skipSpace(text, nameEnd) + 1);
    return true;
  }
}

class ArrayWalk {
  position = -1;
  at;
  #text;
  constructor(text, at) {
    this.#text = text;
    this.at = at;
  }
  next() {
    const text = this.#text;
    this.at = this.position < 0 ? inside(text, this.at) : behindValue(text, this.at);
    this.position++;
    if (text.charCodeAt(this.at) !== closeBracket2)
      return true;
    this.at++;
    return false;
  }
}
function* readEnvelope(text, at, path, { keeps = true, into } = {}) {
  const start = skipSpace(text, at);
  if (text.charCodeAt(start) !== openBrace2) {
    const span = openSpan(text, start);
    while (!extendSpan(text, span))
      yield;
    return { value: shallowValue(text, span), data: undefined, end: span.end };
  }
  const value = noMembers();
  let data;
  let pausedAt = start;
  const walk = new ObjectWalk(text, start, path);
  while (walk.next()) {
    const span = openSpan(text, walk.at);
    const steps = into?.(walk.name, walk.at);
    if (steps !== undefined)
      span.end = yield* steps;
    else
      while (!extendSpan(text, span))
        yield;
    if (keeps && walk.position < envelopeMembersMax)
      value[walk.name] = shallowValue(text, span);
    if (walk.name === "data")
      data = span;
    walk.at = span.end;
    if (walk.at - pausedAt >= stepUnits) {
      yield;
      pausedAt = walk.at;
    }
  }
  return { value, data, end: walk.at };
}
var quote2 = 34, comma2 = 44, backslash2 = 92, openBracket2 = 91, closeBracket2 = 93, openBrace2 = 123, closeBrace2 = 125, openSpan = (text, at) => {
  const start = skipSpace(text, at);
  return { start, end: start, depth: 0, level: 0 };
}, extendSpan = (text, span, units = stepUnits) => {
  const pause = span.end + units;
  let { end: index, level, depth } = span;
  do {
    const code = text.charCodeAt(index);
    if (code === quote2) {
      index = skipString(text, index);
    } else if (code === openBrace2 || code === openBracket2) {
      level++;
      if (level > depth)
        depth = level;
      index++;
    } else if (code === closeBrace2 || code === closeBracket2) {
      level--;
      index++;
    } else if (level > 0) {
      index++;
    } else {
      index = skipScalar(text, index);
    }
  } while (level > 0 && index < pause);
  span.end = index;
  span.level = level;
  span.depth = depth;
  return level === 0;
}, valueSpan = (text, at) => {
  const span = openSpan(text, at);
  extendSpan(text, span, Number.POSITIVE_INFINITY);
  return { start: span.start, end: span.end, depth: span.depth };
}, skipScalar = (text, at) => {
  for (;; ) {
    const code = text.charCodeAt(at);
    if (code <= 32 || code === comma2 || code === closeBrace2 || code === closeBracket2 || Number.isNaN(code))
      return at;
    at++;
  }
}, memberPath = (path, name) => {
  const shown = (name.length > 80 ? `${name.slice(0, 80)}\u2026` : name).toWellFormed();
  return path === "" ? shown : `${path.slice(-200)}.${shown}`;
}, unquote = (text, start, end) => {
  const raw = text.slice(start + 1, end - 1);
  return raw.includes("\\") ? JSON.parse(text.slice(start, end)) : raw;
}, envelopeMembersMax = 1000, refuseSecond = (names, name, path) => {
  if (names.has(name)) {
    const field = memberPath(path, name);
    throw new CubbyError2("invalid_request", `${field} appears twice in the body.`, {
      field,
      hint: "Send each member once."
    });
  }
  if (names.size < envelopeMembersMax)
    names.add(name);
}, inside = (text, at) => skipSpace(text, skipSpace(text, at) + 1), behindValue = (text, end) => {
  const index = skipSpace(text, end);
  return text.charCodeAt(index) === comma2 ? skipSpace(text, index + 1) : index;
}, walkObject = (text, at, path, visit) => {
  const walk = new ObjectWalk(text, at, path);
  while (walk.next())
    walk.at = visit(walk.name, walk.at);
  return walk.at;
}, walkArray = (text, at, visit) => {
  const walk = new ArrayWalk(text, at);
  while (walk.next())
    walk.at = visit(walk.position, walk.at);
  return walk.at;
}, shallowValue = (text, { start, end }) => {
  switch (text.charCodeAt(start)) {
    case openBrace2:
      return {};
    case openBracket2:
      return [];
    case quote2:
      return unquote(text, start, end);
    default:
      return JSON.parse(text.slice(start, end));
  }
}, noMembers = () => Object.create(null), pickMembers = (text, names) => {
  const picked = noMembers();
  let at = inside(text, 0);
  while (text.charCodeAt(at) === quote2) {
    const nameEnd = skipString(text, at);
    const name = oneOf(names, text, at, nameEnd);
    const span = valueSpan(text, skipSpace(text, nameEnd) + 1);
    if (name !== undefined)
      picked[name] = shallowValue(text, span);
    at = behindValue(text, span.end);
  }
  return picked;
}, oneOf = (names, text, start, end) => {
  for (let i = start + 1;i < end; i++) {
    if (text.charCodeAt(i) !== backslash2)
      continue;
    const name = unquote(text, start, end);
    return names.includes(name) ? name : undefined;
  }
  return names.find((name) => name.length === end - start - 2 && text.startsWith(name, start + 1));
}, outlineLevels = 3, outlineContainers = 8, outline = (text, at = 0, level = 1) => {
  const start = skipSpace(text, at);
  const code = text.charCodeAt(start);
  if (code === openBracket2) {
    const elements = [];
    walkArray(text, start, (_, elementStart) => {
      const span = valueSpan(text, elementStart);
      elements.push(shallowValue(text, span));
      return span.end;
    });
    return elements;
  }
  if (code !== openBrace2)
    return shallowValue(text, valueSpan(text, start));
  const members = noMembers();
  let containers = 0;
  const walk = new ObjectWalk(text, start, undefined);
  while (walk.next()) {
    const span = valueSpan(text, walk.at);
    const looksInside = span.depth > 0 && level < outlineLevels && containers++ < outlineContainers;
    members[walk.name] = looksInside ? outline(text, walk.at, level + 1) : shallowValue(text, span);
    walk.at = span.end;
  }
  return members;
}, envelopeDepthMax = 8, refuseDuplicateMembers = (text) => {
  const walk = (at, path, level) => {
    const code = text.charCodeAt(at);
    if (level < envelopeDepthMax && code === 123) {
      return walkObject(text, at, path, (name, start) => walk(start, memberPath(path, name), level + 1));
    }
    if (level < envelopeDepthMax && code === 91) {
      return walkArray(text, at, (position, start) => walk(start, `${path}[${position}]`, level + 1));
    }
    return valueSpan(text, at).end;
  };
  walk(skipSpace(text, 0), "", 0);
};
var init_json_span = __esm(() => {
  init_errors();
  init_steps();
  init_json_scan();
});

// src/core/cursor-seal.ts
import { createCipheriv, createDecipheriv, createHmac, createSecretKey, timingSafeEqual } from "crypto";
var cursorKeyBytes = 32, tagBytes = 16, CursorSeal;
var init_cursor_seal = __esm(() => {
  CursorSeal = class CursorSeal {
    static overheadBytes = tagBytes;
    acceptsPlain;
    #cipherKey;
    #hmac;
    constructor({ secret, acceptsPlain }) {
      if (secret.length !== cursorKeyBytes)
        throw new Error(`a cursor key has ${cursorKeyBytes} bytes, not ${secret.length}`);
      const derive = (use) => createHmac("sha256", secret).update(use).digest();
      this.acceptsPlain = acceptsPlain;
      this.#cipherKey = createSecretKey(derive("cursor cipher"));
      this.#hmac = new Bun.CryptoHasher("sha256", derive("cursor tag"));
    }
    seal(text) {
      const tag = this.#tagOf(text);
      return Buffer.concat([tag, createCipheriv("aes-256-ctr", this.#cipherKey, tag).update(text)]);
    }
    open(sealed) {
      if (sealed.length < tagBytes)
        return;
      const tag = sealed.subarray(0, tagBytes);
      const text = createDecipheriv("aes-256-ctr", this.#cipherKey, tag).update(sealed.subarray(tagBytes));
      return timingSafeEqual(tag, this.#tagOf(text)) ? text : undefined;
    }
    #tagOf(text) {
      return this.#hmac.copy().update(text).digest().subarray(0, tagBytes);
    }
  };
});

// src/core/records/record-key.ts
var noRangeKey = "#", encoder, utf8Bytes = (text) => encoder.encode(text), parseKeyPart = (value, field) => {
  if (typeof value !== "string") {
    throw new CubbyError2("invalid_key", `${field} is ${describeValue(value)}; it takes a string.`, {
      field,
      hint: `Give ${field} as a string of 1 to ${keyBytesMax} bytes.`
    });
  }
  if (value.length === 0) {
    throw new CubbyError2("invalid_key", `${field} is empty; it takes 1 to ${keyBytesMax} bytes of UTF-8.`, {
      field,
      hint: field.endsWith("rangeKey") ? "Leave rangeKey out for a record without one." : undefined
    });
  }
  if (!value.isWellFormed()) {
    throw new CubbyError2("invalid_key", `${field} has a lone surrogate; it takes well-formed Unicode.`, { field });
  }
  if (value.length * 3 > keyBytesMax) {
    const bytes = Buffer.byteLength(value);
    if (bytes > keyBytesMax) {
      throw new CubbyError2("invalid_key", `${field} has ${bytes} bytes; it takes at most ${keyBytesMax}.`, {
        field,
        hint: "Shorten the key, or use a hash of it and keep the long form in data."
      });
    }
  }
  if (value === "." || value === "..") {
    throw new CubbyError2("invalid_key", `${field} is "${value}", which URL parsers drop from paths.`, {
      field,
      hint: 'Use another key; only "." and ".." are not allowed.'
    });
  }
  return value;
}, parseRecordKey = (hashKey, rangeKey, prefix = "") => ({
  hashKey: parseKeyPart(hashKey, `${prefix}hashKey`),
  rangeKey: rangeKey === undefined ? noRangeKey : parseKeyPart(rangeKey, `${prefix}rangeKey`)
});
var init_record_key = __esm(() => {
  init_errors();
  init_limits();
  encoder = new TextEncoder;
});

// src/core/records/expiry.ts
var isExpired = (ttlSeconds, nowMs) => ttlSeconds !== null && ttlSeconds * 1000 <= nowMs, nowSeconds = (nowMs) => Math.floor(nowMs / 1000);

// src/core/text/iso-date-time.ts
var pattern3, daysInMonth = (year, month) => {
  if (month === 2)
    return year % 4 === 0 && (year % 100 !== 0 || year % 400 === 0) ? 29 : 28;
  return month === 4 || month === 6 || month === 9 || month === 11 ? 30 : 31;
}, parseIsoDateTime = (text) => {
  if (text.length < 20 || text.length > 35 || text.charCodeAt(10) !== 84)
    return;
  const match = pattern3.exec(text);
  if (match === null)
    return;
  const year = Number(match[1]);
  const month = Number(match[2]);
  const day = Number(match[3]);
  const hour = Number(match[4]);
  const minute = Number(match[5]);
  const second = Number(match[6]);
  if (month < 1 || month > 12 || day < 1 || day > daysInMonth(year, month))
    return;
  if (hour > 23 || minute > 59 || second > 59)
    return;
  const offsetHour = Number(match[9] ?? 0);
  const offsetMinute = Number(match[10] ?? 0);
  if (offsetHour > 23 || offsetMinute > 59)
    return;
  const milliseconds = match[7] === undefined ? 0 : Number(match[7].padEnd(3, "0").slice(0, 3));
  const offsetMs = (offsetHour * 60 + offsetMinute) * 60000 * (match[8] === "-" ? -1 : 1);
  const date = new Date(0);
  date.setUTCFullYear(year, month - 1, day);
  date.setUTCHours(hour, minute, second, milliseconds);
  return date.getTime() - offsetMs;
};
var init_iso_date_time = __esm(() => {
  pattern3 = /^(\d{4})-(\d\d)-(\d\d)T(\d\d):(\d\d):(\d\d)(?:\.(\d{1,9}))?(?:Z|([+-])(\d\d):(\d\d))$/;
});

// src/core/tables/index-value.ts
var typeSpan = (encoded) => {
  const tag = encoded.charCodeAt(0);
  return { low: String.fromCharCode(tag), high: String.fromCharCode(tag + 1) };
}, view, hex, encodeNumber = (value) => {
  view.setFloat64(0, value + 0);
  let high = view.getUint32(0);
  let low = view.getUint32(4);
  if (high >>> 31 === 1) {
    high = ~high >>> 0;
    low = ~low >>> 0;
  } else {
    high = (high | 2147483648) >>> 0;
  }
  return `n${hex[high >>> 16]}${hex[high & 65535]}${hex[low >>> 16]}${hex[low & 65535]}`;
}, coerceIndexValue = (value) => typeof value === "string" ? parseIsoDateTime(value) ?? value : value, encodeIndexValue = (value) => {
  const coerced = coerceIndexValue(value);
  if (typeof coerced === "number")
    return encodeNumber(coerced);
  if (typeof coerced === "boolean")
    return coerced ? "b1" : "b0";
  return `s${coerced}`;
}, indexValueFault = (value) => {
  switch (typeof value) {
    case "boolean":
      return;
    case "number":
      return Number.isFinite(value) ? undefined : "a number that no double can hold";
    case "string":
      if (!value.isWellFormed())
        return "a string with a lone surrogate";
      if (value.length * 3 > indexStringBytesMax && Buffer.byteLength(value) > indexStringBytesMax) {
        return `a string of ${Buffer.byteLength(value)} bytes, more than the limit of ${indexStringBytesMax}`;
      }
      return;
    default:
      if (value === null)
        return "null";
      return Array.isArray(value) ? "an array" : value === undefined ? "missing" : "an object";
  }
};
var init_index_value = __esm(() => {
  init_limits();
  init_iso_date_time();
  view = new DataView(new ArrayBuffer(8));
  hex = Array.from({ length: 65536 }, (_, i) => i.toString(16).padStart(4, "0"));
});

// src/core/tables/indices.ts
var slots, refuse3 = (field, message, hint) => {
  throw new CubbyError2("invalid_index", `${field} ${message}`, { field, hint });
}, parseFieldName = (value, field) => {
  if (typeof value !== "string")
    return refuse3(field, `is ${describeValue(value)}; it takes the name of a field in data.`);
  const characters = value.length > indexFieldCharactersMax ? [...value].length : value.length;
  if (characters < 1 || characters > indexFieldCharactersMax) {
    return refuse3(field, `has ${characters} characters; it takes 1 to ${indexFieldCharactersMax}.`);
  }
  return value;
}, parseIndices = (value) => {
  if (value === undefined)
    return {};
  if (typeof value !== "object" || value === null || Array.isArray(value)) {
    return refuse3("indices", `is ${describeValue(value)}; it takes an object keyed by slot, i1 to i5.`);
  }
  const declared = value;
  for (const name in declared) {
    if (!slots.includes(name)) {
      refuse3(`indices.${name.slice(0, 80).toWellFormed()}`, "is not a slot.", "Slots are i1, i2, i3, i4 and i5.");
    }
  }
  const indices = {};
  for (const slot of slots) {
    if (!Object.hasOwn(declared, slot))
      continue;
    const field = `indices.${slot}`;
    const declaration = declared[slot];
    if (typeof declaration !== "object" || declaration === null || Array.isArray(declaration)) {
      refuse3(field, `is ${describeValue(declaration)}; it takes { "hashField": \u2026, "rangeField"?: \u2026 }.`);
    }
    const members = declaration;
    for (const name in members) {
      if (name === "hashField" || name === "rangeField")
        continue;
      refuse3(`${field}.${name.slice(0, 80).toWellFormed()}`, "is not a field of an index.", "Known fields: hashField, rangeField.");
    }
    const hashField = parseFieldName(members.hashField, `${field}.hashField`);
    indices[slot] = members.rangeField === undefined ? { hashField } : { hashField, rangeField: parseFieldName(members.rangeField, `${field}.rangeField`) };
  }
  return indices;
}, encodeField = (data, name, slot) => {
  if (!Object.hasOwn(data, name))
    return;
  const value = data[name];
  const fault = indexValueFault(value);
  if (fault !== undefined) {
    const field = `data.${name.toWellFormed()}`;
    throw new CubbyError2("invalid_index_value", `${field} is ${fault}; index ${slot} takes a string, number or boolean.`, {
      field,
      hint: `Store it under another field, or leave ${field} out: the index is sparse.`
    });
  }
  return encodeIndexValue(value);
}, noEntries, indexEntries = (indices, data) => {
  const entries = noEntries.slice();
  for (let i = 0;i < slots.length; i++) {
    const slot = slots[i];
    const declaration = indices[slot];
    if (declaration === undefined)
      continue;
    const hash = encodeField(data, declaration.hashField, slot);
    const range = declaration.rangeField === undefined ? "" : encodeField(data, declaration.rangeField, slot);
    if (hash === undefined || range === undefined)
      continue;
    entries[2 * i] = hash;
    entries[2 * i + 1] = range;
  }
  return entries;
}, readIndexEntries = (indices, { data, built }) => {
  if (built !== undefined)
    return indexEntries(indices, built);
  const names = [];
  for (const slot of slots) {
    const declaration = indices[slot];
    if (declaration === undefined)
      continue;
    names.push(declaration.hashField);
    if (declaration.rangeField !== undefined)
      names.push(declaration.rangeField);
  }
  if (names.length === 0)
    return noEntries.slice();
  return indexEntries(indices, isCheapToBuild(data) ? JSON.parse(data) : pickMembers(data, names));
};
var init_indices = __esm(() => {
  init_errors();
  init_limits();
  init_json_scan();
  init_json_span();
  init_index_value();
  slots = ["i1", "i2", "i3", "i4", "i5"];
  noEntries = [null, null, null, null, null, null, null, null, null, null];
});

// src/core/records/record-json.ts
class PageMeter {
  #records;
  #withData;
  #atMost = 1;
  #bytes = 1;
  #counted = 0;
  constructor(records, withData = true) {
    this.#records = records;
    this.#withData = withData;
  }
  takes(record) {
    this.#atMost += this.#withData ? bytesAtMost(record) : headBytesAtMost(record);
    if (this.#atMost <= pageBytesMax)
      return true;
    this.#count();
    this.#bytes += this.#bytesOf(record) + 1;
    this.#counted++;
    return this.#bytes <= pageBytesMax || this.#records.length === 0;
  }
  bytesLeft() {
    this.#count();
    return pageBytesMax - this.#bytes;
  }
  #count() {
    for (;this.#counted < this.#records.length; this.#counted++)
      this.#bytes += this.#bytesOf(this.#records[this.#counted]) + 1;
  }
  #bytesOf(record) {
    return this.#withData ? bytesOf(record) : Buffer.byteLength(headJson(record));
  }
}
var needsNoEscape, quote3 = (text) => needsNoEscape.test(text) ? `"${text}"` : JSON.stringify(text), recordJson = (record, version = String(record.updatedAtMs)) => {
  const { hashKey, rangeKey, data, ttlSeconds } = record;
  const range = rangeKey === noRangeKey ? "" : `,"rangeKey":${quote3(rangeKey)}`;
  const ttl = ttlSeconds === null ? "" : `,"ttl":${ttlSeconds}`;
  return `{"hashKey":${quote3(hashKey)}${range},"data":${data}${ttl},"updatedAt":${version}}`;
}, headJson = ({ hashKey, rangeKey, ttlSeconds, updatedAtMs }) => {
  const range = rangeKey === noRangeKey ? "" : `,"rangeKey":${quote3(rangeKey)}`;
  const ttl = ttlSeconds === null ? "" : `,"ttl":${ttlSeconds}`;
  return `{"hashKey":${quote3(hashKey)}${range}${ttl},"updatedAt":${updatedAtMs}}`;
}, frameJson = (items, count, cursor) => `{"items":[${items}],"count":${count},"cursor":${JSON.stringify(cursor)}}`, pageJson = (records, cursor) => {
  let items = "";
  for (let i = 0;i < records.length; i++)
    items += `${i === 0 ? "" : ","}${recordJson(records[i])}`;
  return frameJson(items, records.length, cursor);
}, keysPageJson = (records, cursor) => frameJson(records.map(headJson).join(","), records.length, cursor), countPageJson = (count, cursor) => frameJson("", count, cursor), bytesOf = (record) => Buffer.byteLength(recordJson({ ...record, data: "" })) + Buffer.byteLength(record.data), longestFrame = '{"hashKey":"","rangeKey":"","data":,"ttl":253402300799,"updatedAt":9007199254740991},', bytesAtMost = ({ hashKey, rangeKey, data }) => longestFrame.length + 6 * (hashKey.length + rangeKey.length) + 3 * data.length, headBytesAtMost = ({ hashKey, rangeKey }) => longestFrame.length + 6 * (hashKey.length + rangeKey.length), recordFrameBytesMin, headFrameBytesMin;
var init_record_json = __esm(() => {
  init_limits();
  init_record_key();
  needsNoEscape = /^[ !#-[\]-~]*$/;
  recordFrameBytesMin = '{"hashKey":"","data":,"updatedAt":0},'.length - 1;
  headFrameBytesMin = '{"hashKey":"","updatedAt":0},'.length - 1;
});

// src/core/records/find.ts
class FoundRecords {
  entries = [];
  #records = [];
  #meter = new PageMeter(this.#records);
  add(record) {
    if (record !== undefined) {
      if (!this.#meter.takes(record))
        return false;
      this.#records.push(record);
    }
    this.entries.push(record);
    return true;
  }
}
var shownKey = ({ hashKey, rangeKey }) => rangeKey === noRangeKey ? { hashKey } : { hashKey, rangeKey }, findJson = (keys, entries) => {
  let items = "";
  for (const record of entries)
    if (record !== undefined)
      items += `${items === "" ? "" : ","}${recordJson(record)}`;
  const missing = keys.slice(0, entries.length).filter((_, i) => entries[i] === undefined);
  const unread = keys.slice(entries.length);
  const show = (some) => JSON.stringify(some.map(shownKey));
  return `{"items":[${items}],"missing":${show(missing)},"unread":${show(unread)}}`;
};
var init_find = __esm(() => {
  init_limits();
  init_record_json();
  init_record_key();
  if (longestFrame.length + 6 * 2 * keyBytesMax + dataBytesMax + 1 > pageBytesMax) {
    throw new Error("a record may be too large for every answer");
  }
});

// src/core/records/scan.ts
var isEmptyScan = (scan) => scan.index === "t" ? scan.low >= scan.high : Buffer.compare(scan.low, scan.high) >= 0, moveBound = (scan, bound, id, order) => {
  if (scan.descending) {
    return order < 0 || order === 0 && id < scan.highId ? { ...scan, high: bound, highId: id } : scan;
  }
  return order > 0 || order === 0 && id > scan.lowId ? { ...scan, low: bound, lowId: id } : scan;
}, resumeScan = (scan, position) => {
  if (scan.index === "t") {
    const range = position.range;
    return moveBound(scan, range, position.id, range - (scan.descending ? scan.high : scan.low));
  }
  const range = position.range;
  const bound = utf8Bytes(scan.index === "primary" && !scan.descending ? `${range}\x00` : range);
  const id = scan.index === "primary" ? 0 : position.id;
  return moveBound(scan, bound, id, Buffer.compare(bound, scan.descending ? scan.high : scan.low));
};
var init_scan = __esm(() => {
  init_record_key();
});

// src/core/shares.ts
class Shares {
  #max;
  #orgs = new Map;
  #spare;
  #used = 0;
  constructor(max) {
    this.#max = max;
  }
  get used() {
    return this.#used;
  }
  hasRoom(orgId, keySeq, amount) {
    const org = this.#orgs.get(orgId);
    if (org === undefined)
      return this.#used + amount <= this.#max * 2;
    const heldByKey = org.byKey.get(keySeq) ?? 0;
    const orgMax = (this.#max - (this.#used - org.held)) / 2;
    return heldByKey + amount <= orgMax - org.held || heldByKey === 0 && this.#admitsKey(org, amount);
  }
  tryTake(orgId, keySeq, amount) {
    if (!this.hasRoom(orgId, keySeq, amount))
      return false;
    this.take(orgId, keySeq, amount);
    return true;
  }
  take(orgId, keySeq, amount) {
    if (amount === 0)
      return;
    const org = this.#orgs.get(orgId);
    this.#used += amount;
    if (org === undefined) {
      this.#orgs.set(orgId, this.#newOrg(keySeq, amount));
      return;
    }
    org.held += amount;
    org.byKey.set(keySeq, (org.byKey.get(keySeq) ?? 0) + amount);
  }
  give(orgId, keySeq, amount) {
    if (amount === 0)
      return;
    const org = this.#orgs.get(orgId);
    const left = (org?.byKey.get(keySeq) ?? 0) - amount;
    if (org === undefined || left < 0)
      throw new Error("more was given back than taken");
    this.#used -= amount;
    org.held -= amount;
    if (left > 0) {
      org.byKey.set(keySeq, left);
      return;
    }
    org.byKey.delete(keySeq);
    if (org.byKey.size > 0)
      return;
    this.#orgs.delete(orgId);
    this.#spare = org;
  }
  #admitsKey(org, amount) {
    return org.held + amount <= this.#max * 0.75 && this.#used + amount <= this.#max * 1.5;
  }
  #newOrg(keySeq, amount) {
    const org = this.#spare ?? { held: 0, byKey: new Map };
    this.#spare = undefined;
    org.held = amount;
    org.byKey.set(keySeq, amount);
    return org;
  }
}
// package.json
var package_default = {
  name: "cubbydb",
  version: "0.1.0",
  description: "A schemaless document store: JSON records in tables, one command to start.",
  keywords: [
    "cubby",
    "cubbydb",
    "document-store",
    "database",
    "json",
    "schemaless",
    "http",
    "sqlite",
    "postgresql"
  ],
  license: "Apache-2.0",
  type: "module",
  engines: {
    node: ">=20"
  },
  bin: {
    cubby: "bin/cubby",
    cubbydb: "bin/cubby"
  },
  files: [
    "bin",
    "dist"
  ],
  scripts: {
    build: "bun build.ts",
    prepack: "bun build.ts"
  },
  dependencies: {
    bun: "1.4.4",
    "csv-parse": "7.0.3",
    pg: "8.23.1"
  },
  devDependencies: {
    "@cubbydb/client": "0.1.0"
  }
};
// ../client/src/transport/error-codes.ts
var errorCodes = [
  "invalid_json",
  "invalid_request",
  "invalid_name",
  "reserved_name",
  "invalid_key",
  "invalid_index",
  "invalid_index_value",
  "index_not_declared",
  "invalid_range",
  "invalid_cursor",
  "invalid_ttl",
  "batch_too_large",
  "batch_duplicate_keys",
  "missing_api_key",
  "invalid_api_key",
  "expired_api_key",
  "revoked_api_key",
  "read_only_key",
  "key_scope",
  "secret_key_in_browser",
  "route_not_found",
  "table_not_found",
  "record_not_found",
  "key_not_found",
  "method_not_allowed",
  "table_exists",
  "precondition_failed",
  "record_too_large",
  "body_too_large",
  "unsupported_media_type",
  "internal",
  "store_damaged",
  "outcome_unknown",
  "unavailable",
  "storage_full"
];
// src/http/routes/api-keys.ts
init_limits();

// src/operations/api-keys/create-api-key.ts
init_api_key();

// src/core/members.ts
init_errors();
var parseObject = (value, field) => {
  if (typeof value === "object" && value !== null && !Array.isArray(value))
    return value;
  throw new CubbyError2("invalid_request", `${field ?? "The body"} is ${describeValue(value)}; it takes a JSON object.`, {
    field
  });
};
var refuseUnknownMembers = (members, known, prefix = "") => {
  for (const name in members) {
    if (known.includes(name))
      continue;
    const field = `${prefix}${name.length > 80 ? `${name.slice(0, 80)}\u2026` : name}`.toWellFormed();
    const meant = known.find((candidate) => candidate.toLowerCase() === name.toLowerCase().replaceAll("_", ""));
    throw new CubbyError2("invalid_request", `${field} is not a field of this request.`, {
      field,
      hint: meant === undefined ? `Known fields: ${known.join(", ")}.` : `Write it as "${meant}".`
    });
  }
};
var parseLimit = (value, absent, most) => {
  if (value === undefined)
    return absent;
  const isCount = typeof value === "number" && (Number.isInteger(value) || value === Number.POSITIVE_INFINITY);
  if (!isCount || value < 1) {
    throw new CubbyError2("invalid_request", `limit is ${describeValue(value)}; it takes an integer of at least 1.`, {
      field: "limit",
      hint: `Leave limit out for ${absent}, or give 1 to ${most}.`
    });
  }
  return Math.min(value, most);
};
var parseFlag = (value, field) => {
  if (value === undefined || value === false)
    return false;
  if (value === true)
    return true;
  throw new CubbyError2("invalid_request", `${field} is ${describeValue(value)}; it takes true or false.`, { field });
};

// src/core/text/plain-body.ts
init_json_scan();
init_json_span();
var parsePlainBody = (text) => {
  if (isCheapToBuild(text))
    return parseSmallBody(text);
  checkJson(text);
  const members = parseObject(outline(text));
  refuseDuplicateMembers(text);
  return members;
};
var parseSmallBody = (text) => {
  const members = parseObject(parseJson(text));
  if (JSON.stringify(members) !== text)
    refuseDuplicateMembers(text);
  return members;
};

// src/core/awaitable.ts
var andThen = (value, use) => value instanceof Promise ? value.then(use) : use(value);

// src/operations/access.ts
init_errors();
init_hint();
init_limits();
init_names();
var callerOf = (access) => access.apiKey === undefined ? { orgId: access.orgId, apiKey: undefined } : { orgId: access.apiKey.orgId, apiKey: access.apiKey };
var parseAddress = (db, table) => ({
  db: parseName(db, "db"),
  table: parseName(table, "table")
});
var parseAddressAlone = (text) => {
  const members = parsePlainBody(text);
  refuseUnknownMembers(members, ["db", "table"]);
  return parseAddress(members.db, members.table);
};
var requireTable = (access, address, nowMs) => andThen(access.engine.tables.find(access.apiKey.orgId, address.db, address.table), (table) => table ?? refuseUnknownTable(access, address, nowMs));
var refuseUnknownTable = async (access, address, nowMs) => {
  throw await tableNotFound(access, address, nowMs);
};
var tableNotFound = async (access, address, nowMs) => {
  const { db, table } = address;
  const deleted = await access.engine.tables.findDeleted(access.apiKey.orgId, db, table, nowMs);
  if (deleted === undefined) {
    return new CubbyError2("table_not_found", `There is no table ${table} in database ${db}.`, {
      hint: ["Create it: ", call("createTable", { db, table })]
    });
  }
  const until = new Date(deleted.deletedAtMs + recoveryMs).toISOString();
  return new CubbyError2("table_not_found", `The table ${table} in database ${db} was deleted.`, {
    hint: [
      `Restore it until ${until}: `,
      call("restoreTable", { db, table }),
      "; or create a new, empty table: ",
      call("createTable", { db, table })
    ]
  });
};
var writeRecords = async (access, address, table, operations, nowMs) => {
  try {
    return await access.engine.records.write(callerOf(access), table, operations, nowMs);
  } catch (error) {
    if (error instanceof CubbyError2 && error.code === "table_not_found")
      throw await tableNotFound(access, address, nowMs);
    throw error;
  }
};

// src/operations/operation.ts
var defineOperation = (operation) => operation;

// src/operations/api-keys/present-api-key.ts
init_api_key();
var keyStatus = (key, nowMs) => {
  if (key.revokedAtMs !== null)
    return "revoked";
  return key.expiresAtMs !== null && key.expiresAtMs <= nowMs ? "expired" : "active";
};
var presentApiKey = (key, nowMs) => ({
  id: key.id,
  kind: key.kind,
  name: key.name,
  masked: maskApiKey(key.kind, key.lastFour),
  databases: key.databases,
  status: keyStatus(key, nowMs),
  createdAt: key.createdAtMs,
  lastUsedAt: key.lastUsedAtMs,
  expiresAt: key.expiresAtMs,
  revokedAt: key.revokedAtMs
});
var presentOwnApiKey = (own, nowMs) => ({
  ...presentApiKey(own.apiKey, nowMs),
  organization: own.organization
});
var presentNewApiKey = (key, text) => ({
  id: key.id,
  kind: key.kind,
  name: key.name,
  key: text,
  masked: maskApiKey(key.kind, key.lastFour),
  databases: key.databases,
  createdAt: key.createdAtMs,
  expiresAt: key.expiresAtMs
});

// src/operations/api-keys/create-api-key.ts
var parseCreateApiKey = (members, nowMs) => {
  refuseUnknownMembers(members, ["kind", "name", "expiresAt", "databases"]);
  return {
    kind: parseKeyKind(members.kind),
    name: parseKeyName(members.name),
    expiresAtMs: parseExpiresAt(members.expiresAt, nowMs),
    databases: parseKeyDatabases(members.databases)
  };
};
var createApiKey = async (access, request, nowMs) => {
  const { text, kept } = makeApiKey(request);
  return { apiKey: await access.engine.apiKeys.create(callerOf(access), kept, nowMs), text };
};
var createApiKeyOperation = defineOperation({
  id: "createApiKey",
  area: "api-keys",
  summary: "Create an API key",
  description: "The key is shown only in this answer: the store keeps its hash.",
  keyNeeded: "manage-keys",
  effect: "writes",
  returns: "The new key.",
  codes: ["invalid_name", "reserved_name"],
  parse: (text, nowMs) => parseCreateApiKey(parsePlainBody(text), nowMs),
  run: createApiKey,
  present: ({ apiKey, text }) => JSON.stringify(presentNewApiKey(apiKey, text))
});

// src/operations/api-keys/describe-own-api-key.ts
var describeOwnApiKey = async ({ engine, apiKey }) => {
  const { orgId, seq } = apiKey;
  const [listed] = await engine.apiKeys.list(orgId, seq + 1, 1);
  const organization = await engine.organizations.findById(orgId);
  return { apiKey: listed, organization: organization.name };
};
var describeOwnApiKeyOperation = defineOperation({
  id: "describeOwnApiKey",
  area: "api-keys",
  summary: "Describe the calling API key",
  description: "The API key that the request is sent with: its kind, its limits and its organization. Every key may ask, public and limited ones too.",
  keyNeeded: "read",
  effect: "reads",
  returns: "The key, as in the list of keys, and the name of its organization.",
  codes: [],
  parse(text) {
    refuseUnknownMembers(parsePlainBody(text), []);
    return {};
  },
  run: describeOwnApiKey,
  present: (own, nowMs) => JSON.stringify(presentOwnApiKey(own, nowMs))
});

// src/core/cursor.ts
init_cursor_seal();
init_errors();
init_limits();
import { createHash as createHash2 } from "crypto";
var sealedVersion = 2;
var versionByte = Buffer.of(sealedVersion);
var plainVersion = 1;
var plainFirstByte = 91;
var numberCharactersMax = String(Number.MIN_SAFE_INTEGER).length;
var refuse2 = (reason) => {
  throw new CubbyError2("invalid_cursor", `cursor ${reason}`, {
    field: "cursor",
    hint: "Send the cursor of the previous answer with an otherwise identical request, or leave it out for the first page."
  });
};
var encode = (seal, parts) => {
  const text = JSON.stringify(parts);
  let spaces = 0;
  for (const part of parts)
    if (typeof part === "number")
      spaces += numberCharactersMax - String(part).length;
  const bytes = 1 + CursorSeal.overheadBytes + Buffer.byteLength(text) + spaces;
  spaces += (3 - bytes % 3) % 3;
  const sealed = seal.seal(Buffer.from(text + " ".repeat(spaces)));
  return Buffer.concat([versionByte, sealed]).toString("base64url");
};
var decode = (seal, cursor) => {
  if (typeof cursor !== "string")
    return refuse2(`is ${describeValue(cursor)}; it takes a string or null.`);
  if (cursor.length > cursorCharactersMax || !/^[A-Za-z0-9_-]+$/.test(cursor))
    return refuse2("cannot be read.");
  const bytes = Buffer.from(cursor, "base64url");
  const parts = bytes[0] === sealedVersion ? readSealed(seal, cursor, bytes) : readPlain(seal, bytes);
  return parts ?? refuse2("cannot be read.");
};
var readSealed = (seal, cursor, bytes) => {
  if (cursor.length % 4 !== 0)
    return;
  const text = seal.open(bytes.subarray(1));
  return text === undefined ? undefined : JSON.parse(text.toString());
};
var readPlain = (seal, bytes) => {
  if (!seal.acceptsPlain || bytes[0] !== plainFirstByte)
    return;
  try {
    const parts = JSON.parse(bytes.toString());
    if (Array.isArray(parts) && parts[0] === plainVersion)
      return parts.slice(1);
  } catch {}
  return;
};
var scanFingerprint = (tableId, scan) => {
  const bound = (value) => typeof value === "number" ? value : Buffer.from(value).toString("hex");
  const hash = scan.index === "t" ? "" : scan.hash;
  return createHash2("sha256").update(JSON.stringify([tableId, scan.index, hash, bound(scan.low), bound(scan.high), scan.descending])).digest("base64url").slice(0, 16);
};
var encodeScanCursor = (seal, tableId, scan, position, fingerprint = scanFingerprint(tableId, scan)) => encode(seal, [fingerprint, position.range, position.id]);
var decodeScanCursor = (seal, cursor, tableId, scan, fingerprint = scanFingerprint(tableId, scan)) => {
  const [found, range, id] = decode(seal, cursor);
  if (found !== fingerprint) {
    return refuse2("belongs to another query: table, hash, index, range and direction must be those it came with.");
  }
  const rangeFits = scan.index === "t" ? Number.isSafeInteger(range) : typeof range === "string" && range.isWellFormed();
  if (!rangeFits || !Number.isSafeInteger(id) || id < 0)
    return refuse2("cannot be read.");
  return { range, id };
};
var isName2 = (value) => typeof value === "string" && /^[a-z0-9_-]{1,64}$/.test(value);
var encodeListCursor = (seal, listing, place) => encode(seal, [listing, ...place]);
var decodeListCursor = (seal, cursor, listing, types) => {
  const [found, ...place] = decode(seal, cursor);
  if (found !== listing)
    return refuse2("belongs to another listing.");
  const fits = place.length === types.length && place.every((part, i) => types[i] === "number" ? Number.isSafeInteger(part) : isName2(part));
  return fits ? place : refuse2("cannot be read.");
};

// src/operations/listing.ts
init_errors();
init_limits();
var parseListing = ({ limit, cursor }) => {
  if (cursor !== undefined && typeof cursor !== "string") {
    throw new CubbyError2("invalid_cursor", `cursor is ${describeValue(cursor)}; it takes a string.`, {
      field: "cursor",
      hint: "Leave it out for the first page."
    });
  }
  return { limit: parseLimit(limit, pageRowsDefault, pageRowsMax), cursor };
};
var pagesNote = 'The last page has `"cursor": null`; otherwise send `cursor` back to get the next page.';

// src/operations/api-keys/list-api-keys.ts
var listApiKeys = async (access, { limit, cursor }) => {
  const seal = access.engine.cursorSeal;
  const before = cursor === undefined ? undefined : decodeListCursor(seal, cursor, "keys", ["number"])[0];
  const found = await access.engine.apiKeys.list(callerOf(access).orgId, before, limit + 1);
  const keys = found.slice(0, limit);
  return { keys, cursor: found.length > limit ? encodeListCursor(seal, "keys", [keys.at(-1).seq]) : null };
};
var listApiKeysOperation = defineOperation({
  id: "listApiKeys",
  area: "api-keys",
  summary: "List the API keys of an organization",
  description: `The API keys of the organization, masked, newest first. ${pagesNote}`,
  keyNeeded: "manage-keys",
  effect: "reads",
  returns: "A page of keys.",
  codes: ["invalid_cursor"],
  parse(text) {
    const members = parsePlainBody(text);
    refuseUnknownMembers(members, ["limit", "cursor"]);
    return parseListing(members);
  },
  run: listApiKeys,
  present: ({ keys, cursor }, nowMs) => JSON.stringify({ keys: keys.map((key) => presentApiKey(key, nowMs)), cursor })
});

// src/operations/api-keys/revoke-api-key.ts
init_errors();
init_hint();
init_record_key();
var revokeApiKey = async (access, { id }, nowMs) => {
  const revoked = await access.engine.apiKeys.revoke(callerOf(access), id, nowMs);
  if (revoked !== undefined)
    return revoked;
  throw new CubbyError2("key_not_found", "The organization has no API key with that id.", {
    hint: ["Ids are listed by ", call("listApiKeys"), '; they start with "key_".']
  });
};
var revokeApiKeyOperation = defineOperation({
  id: "revokeApiKey",
  area: "api-keys",
  summary: "Revoke an API key permanently",
  description: "Revocation is permanent. Once the answer is sent, every request with the key fails with `revoked_api_key`. Revoking a key again changes nothing.",
  keyNeeded: "manage-keys",
  effect: "destroys",
  returns: "The revoked key.",
  codes: ["invalid_key", "key_not_found"],
  parse(text) {
    const members = parsePlainBody(text);
    refuseUnknownMembers(members, ["id"]);
    return { id: parseKeyPart(members.id, "id") };
  },
  run: revokeApiKey,
  present: (key, nowMs) => JSON.stringify(presentApiKey(key, nowMs))
});

// src/http/routes/api-keys.ts
var apiKeyRoutes = {
  listApiKeys: { operation: listApiKeysOperation, method: "GET", paths: ["/api/keys"], query: ["limit", "cursor"] },
  createApiKey: {
    operation: createApiKeyOperation,
    method: "POST",
    paths: ["/api/keys"],
    body: { schema: "CreateKeyRequest", required: true, bytesMax: plainBodyBytesMax }
  },
  describeOwnApiKey: { operation: describeOwnApiKeyOperation, method: "GET", paths: ["/api/keys/self"] },
  revokeApiKey: { operation: revokeApiKeyOperation, method: "DELETE", paths: ["/api/keys/:id"] }
};

// src/http/routes/records.ts
init_limits();

// src/operations/records/apply-batch.ts
init_errors();
init_limits();

// src/core/records/record-data.ts
init_errors();
init_limits();
init_record_key();
var putFields = ["hashKey", "rangeKey", "data", "ttl"];
var parseRecordToPut = (members, text, span, nowMs, prefix = "", alsoKnown = []) => {
  refuseUnknownMembers(members, [...putFields, ...alsoKnown], prefix);
  const { hashKey, rangeKey } = parseRecordKey(members.hashKey, members.rangeKey, prefix);
  const value = members.data;
  const field = `${prefix}data`;
  if (typeof value !== "object" || value === null || Array.isArray(value)) {
    throw new CubbyError2("invalid_request", `${field} is ${describeValue(value)}; it takes a JSON object.`, {
      field,
      hint: value === undefined ? 'Put the record under "data".' : 'Wrap it: { "value": \u2026 }.'
    });
  }
  const data = text.slice(span.start, span.end);
  const bytes = Buffer.byteLength(data);
  if (bytes > dataBytesMax) {
    throw new CubbyError2("record_too_large", `${field} has ${bytes} bytes of JSON; it takes at most ${dataBytesMax}.`, {
      field,
      hint: "Split the record over several range keys."
    });
  }
  if (span.depth > dataDepthMax) {
    throw new CubbyError2("invalid_request", `${field} is ${span.depth} levels deep; it takes at most ${dataDepthMax}.`, {
      field,
      hint: "Flatten it, or store the inner part as a string."
    });
  }
  return {
    hashKey,
    rangeKey,
    data,
    ttlSeconds: parseTtl(members.ttl, `${prefix}ttl`, nowMs)
  };
};
var parseTtl = (value, field, nowMs) => {
  if (value === undefined)
    return null;
  if (typeof value === "number" && Number.isInteger(value) && value >= 0 && value <= ttlSecondsMax) {
    if (nowMs !== undefined)
      refuseLongPast(value, field, nowSeconds(nowMs));
    return value;
  }
  const milliseconds = typeof value === "number" && value > ttlSecondsMax && value / 1000 <= ttlSecondsMax;
  throw new CubbyError2("invalid_ttl", `${field} is ${describeValue(value)}; it takes epoch seconds, an integer from 0 to ${ttlSecondsMax}.`, {
    field,
    hint: milliseconds ? `It looks like milliseconds; give seconds: ${Math.floor(value / 1000)}.` : "Leave ttl out for a record that does not expire."
  });
};
var durationSecondsMax = 10 * 365 * 86400;
var refuseLongPast = (ttlSeconds, field, now) => {
  if (now - ttlSeconds <= ttlPastSecondsMax)
    return;
  const hint = ttlSeconds === 0 ? `Leave ttl out for a record that does not expire; a time is given in epoch seconds, now ${now}.` : ttlSeconds < durationSecondsMax ? `${ttlSeconds} looks like a duration; for ${ttlSeconds} seconds from now give ${now + ttlSeconds}.` : `It is ${new Date(ttlSeconds * 1000).toISOString()}; a day from now is ${now + 86400}.`;
  throw new CubbyError2("invalid_ttl", `${field} is ${ttlSeconds}, more than a day in the past; it takes the epoch second at which the record expires.`, { field, hint });
};

// src/operations/records/apply-batch.ts
init_record_key();
init_steps();
init_indices();

// src/core/text/list-body.ts
init_steps();
init_json_scan();
init_json_span();
function* readElements(text, at, name, elementsMax, list) {
  let pausedAt = at;
  const walk = new ArrayWalk(text, at);
  while (walk.next()) {
    const keeps = walk.position < elementsMax;
    if (keeps || text[walk.at] === "{") {
      const element = yield* readEnvelope(text, walk.at, `${name}[${walk.position}]`, { keeps });
      if (keeps)
        list.first.push(element);
      walk.at = element.end;
    } else {
      const span = openSpan(text, walk.at);
      while (!extendSpan(text, span))
        yield;
      walk.at = span.end;
    }
    if (walk.at - pausedAt >= stepUnits) {
      yield;
      pausedAt = walk.at;
    }
  }
  list.count = walk.position;
  return walk.at;
}
function* readListBody(text, name, elementsMax) {
  if (isCheapToBuild(text))
    parseJson(text);
  else {
    const scan = new JsonScan(text);
    while (!scan.run(stepUnits))
      yield;
  }
  const list = { first: [], count: 0 };
  const { value } = yield* readEnvelope(text, 0, "", {
    into: (member, at) => member === name && text[at] === "[" ? readElements(text, at, name, elementsMax, list) : undefined
  });
  return { members: parseObject(value), list };
}

// src/operations/records/condition.ts
init_errors();
var refuse4 = (value, field, takes) => {
  throw new CubbyError2("invalid_request", `${field} is ${describeValue(value)}; it takes ${takes}.`, {
    field,
    hint: "Give the updatedAt that the record must have, or null if it must not exist."
  });
};
var parseIfUpdatedAt = (value, field) => {
  if (value === undefined)
    return;
  if (value === null)
    return "absent";
  if (Number.isSafeInteger(value))
    return { version: value };
  return refuse4(value, field, "an integer or null");
};
var parseCondition = (value) => value === "*" ? "exists" : parseIfUpdatedAt(value, "ifUpdatedAt");
var preconditionFailed = (current, field) => current === undefined ? new CubbyError2("precondition_failed", "The record does not exist; nothing was changed.", {
  field,
  hint: "Write without the condition, or with one that holds for an absent record, to create it."
}) : new CubbyError2("precondition_failed", `The record is at version ${current}; nothing was changed.`, {
  field,
  hint: "Read the record again, apply your change to it, and write with its new version."
});

// src/operations/records/refuse-same-record.ts
init_errors();
var refuseSameRecord = (elements, name, hint) => {
  const seen = new Map;
  elements.forEach(({ hashKey, rangeKey }, position) => {
    const slot = JSON.stringify([hashKey, rangeKey]);
    const earlier = seen.get(slot);
    if (earlier !== undefined) {
      throw new CubbyError2("batch_duplicate_keys", `${name}[${position}] names the same record as ${name}[${earlier}].`, { field: `${name}[${position}]`, hint });
    }
    seen.set(slot, position);
  });
};

// src/operations/records/apply-batch.ts
var parseOperation = ({ value, data }, text, nowMs, position) => {
  const name = `operations[${position}]`;
  const prefix = `${name}.`;
  const members = parseObject(value, name);
  if (members.op === "put") {
    const record = parseRecordToPut(members, text, data, nowMs, prefix, ["op", "ifUpdatedAt"]);
    return { op: "put", ...record, condition: parseIfUpdatedAt(members.ifUpdatedAt, `${prefix}ifUpdatedAt`) };
  }
  if (members.op === "delete") {
    refuseOnDelete(members, prefix);
    const key = parseRecordKey(members.hashKey, members.rangeKey, prefix);
    return { op: "delete", ...key, condition: parseIfUpdatedAt(members.ifUpdatedAt, `${prefix}ifUpdatedAt`) };
  }
  throw new CubbyError2("invalid_request", `${prefix}op is ${describeValue(members.op)}; it takes "put" or "delete".`, {
    field: `${prefix}op`
  });
};
var refuseOnDelete = (members, prefix) => {
  for (const name of ["data", "ttl"]) {
    if (!Object.hasOwn(members, name))
      continue;
    throw new CubbyError2("invalid_request", `${prefix}${name} is not allowed in a delete.`, {
      field: `${prefix}${name}`,
      hint: `Leave ${name} out, or make it a put.`
    });
  }
  refuseUnknownMembers(members, ["op", "hashKey", "rangeKey", "ifUpdatedAt"], prefix);
};
var readBatch = (text) => readListBody(text, "operations", batchOperationsMax);
var parseOperations = (text, operations, list, nowMs) => {
  if (!Array.isArray(operations) || list.count === 0) {
    throw new CubbyError2("invalid_request", `operations is ${Array.isArray(operations) ? "empty" : describeValue(operations)}; it takes 1 to ${batchOperationsMax} operations.`, { field: "operations" });
  }
  if (list.count > batchOperationsMax) {
    throw new CubbyError2("batch_too_large", `operations has ${list.count} operations; a batch takes at most ${batchOperationsMax}.`, { field: "operations", hint: `Send them in batches of ${batchOperationsMax}; each is atomic by itself.` });
  }
  const parsed = list.first.map((operation, i) => parseOperation(operation, text, nowMs, i));
  refuseSameRecord(parsed, "operations", "Send the two operations in separate requests.");
  return parsed;
};
function* parseBatchInSteps(text, nowMs) {
  const { members, list } = yield* readBatch(text);
  refuseUnknownMembers(members, ["operations"]);
  return parseOperations(text, members.operations, list, nowMs);
}
var toRecordOperation = (operation, indices, position) => {
  const { hashKey, rangeKey, condition } = operation;
  if (operation.op === "delete")
    return { op: "delete", hashKey, rangeKey, condition };
  try {
    const entries = readIndexEntries(indices, operation);
    const { data, ttlSeconds } = operation;
    return { op: "put", hashKey, rangeKey, condition, data, ttlSeconds, entries };
  } catch (error) {
    throw error instanceof CubbyError2 ? error.within(`operations[${position}]`) : error;
  }
};
function* toRecordOperations(batch, indices) {
  const operations = [];
  let units = 0;
  for (const operation of batch) {
    operations.push(toRecordOperation(operation, indices, operations.length));
    units += operation.op === "put" ? operation.data.length : 0;
    if (units < stepUnits)
      continue;
    yield;
    units = 0;
  }
  return operations;
}
var applyBatch = async (access, input, nowMs, runSteps = runThrough) => {
  const table = await requireTable(access, input, nowMs);
  const operations = await runSteps(toRecordOperations(input.operations, table.indices));
  const written = await writeRecords(access, input, table, operations, nowMs);
  if (!written.applied) {
    throw preconditionFailed(written.current, `operations[${written.failedOperation}].ifUpdatedAt`);
  }
  return operations.length;
};
var applyBatchOperation = defineOperation({
  id: "applyBatch",
  area: "records",
  summary: "Put and delete several records at once",
  description: "Applies all operations or none; no reader ever sees only some of them. In an error, `field` names the operation: `operations[3].data.status`.",
  keyNeeded: "write",
  effect: "destroys",
  returns: "All operations were applied.",
  codes: [
    "invalid_key",
    "invalid_index_value",
    "invalid_ttl",
    "batch_too_large",
    "batch_duplicate_keys",
    "table_not_found",
    "precondition_failed",
    "record_too_large"
  ],
  parse(text, nowMs) {
    const { members, list } = runThrough(readBatch(text));
    const { db, table, ...batch } = members;
    const address = parseAddress(db, table);
    refuseUnknownMembers(batch, ["operations"]);
    return { ...address, operations: parseOperations(text, batch.operations, list, nowMs) };
  },
  run: (access, input, nowMs) => applyBatch(access, input, nowMs),
  present: (count) => JSON.stringify({ count })
});

// src/operations/records/delete-record.ts
init_record_key();
var deleteRecord = async (access, input, nowMs) => {
  const { hashKey, rangeKey, condition } = input;
  const table = await requireTable(access, input, nowMs);
  const written = await writeRecords(access, input, table, [{ op: "delete", hashKey, rangeKey, condition }], nowMs);
  if (!written.applied)
    throw preconditionFailed(written.current);
  return written.results[0].deleted;
};
var deleteRecordOperation = defineOperation({
  id: "deleteRecord",
  area: "records",
  summary: "Delete a record",
  description: "Deleting a record that does not exist is not an error.",
  keyNeeded: "write",
  effect: "destroys",
  returns: "Whether the record existed.",
  codes: ["table_not_found", "precondition_failed"],
  parse(text) {
    const { db, table, ...members } = parsePlainBody(text);
    const address = parseAddress(db, table);
    refuseUnknownMembers(members, ["hashKey", "rangeKey", "ifUpdatedAt"]);
    const key = parseRecordKey(members.hashKey, members.rangeKey);
    return { ...address, ...key, condition: parseCondition(members.ifUpdatedAt) };
  },
  run: deleteRecord,
  present: (deleted) => JSON.stringify({ deleted })
});

// src/operations/records/find-records.ts
init_errors();
init_limits();
init_find();
init_record_key();
init_steps();
init_json_scan();
var buildFind = (text) => {
  if (!isCheapToBuild(text))
    return;
  const value = parseJson(text);
  if (JSON.stringify(value) !== text)
    return;
  const members = parseObject(value);
  const first = Array.isArray(members.keys) ? members.keys : [];
  return { members, first, count: first.length };
};
function* readFind(text) {
  const built = buildFind(text);
  if (built !== undefined)
    return built;
  const { members, list } = yield* readListBody(text, "keys", findKeysMax);
  return { members, first: list.first.map(({ value }) => value), count: list.count };
}
var parseKey = (value, position) => {
  const name = `keys[${position}]`;
  if (typeof value !== "object" || value === null || Array.isArray(value)) {
    throw new CubbyError2("invalid_request", `${name} is ${describeValue(value)}; it takes an object.`, {
      field: name,
      hint: 'Write it as { "hashKey": \u2026 }, or as { "hashKey": \u2026, "rangeKey": \u2026 }.'
    });
  }
  const members = value;
  refuseUnknownMembers(members, ["hashKey", "rangeKey"], `${name}.`);
  return parseRecordKey(members.hashKey, members.rangeKey, `${name}.`);
};
var parseKeys = ({ members: { keys, ...others }, first, count }) => {
  refuseUnknownMembers(others, ["keys"]);
  if (!Array.isArray(keys) || count === 0) {
    throw new CubbyError2("invalid_request", `keys is ${Array.isArray(keys) ? "empty" : describeValue(keys)}; it takes 1 to ${findKeysMax} record keys.`, { field: "keys", hint: 'Write it as [{ "hashKey": \u2026 }, { "hashKey": \u2026, "rangeKey": \u2026 }].' });
  }
  if (count > findKeysMax) {
    throw new CubbyError2("batch_too_large", `keys has ${count} keys; a find takes at most ${findKeysMax}.`, {
      field: "keys",
      hint: `Ask for ${findKeysMax} at a time.`
    });
  }
  const parsed = first.map(parseKey);
  refuseSameRecord(parsed, "keys", 'Name each record once. No rangeKey and "#" are the same.');
  return parsed;
};
function* parseFindInSteps(text) {
  return parseKeys(yield* readFind(text));
}
var findRecords = async (access, { db, table: name, keys }, nowMs) => {
  const table = await requireTable(access, { db, table: name }, nowMs);
  return { keys, entries: await access.engine.records.find(table, keys, nowMs, access.apiKey.seq) };
};
var presentFound = ({ keys, entries }) => findJson(keys, entries);
var findRecordsOperation = defineOperation({
  id: "findRecords",
  area: "records",
  summary: "Get several records by their keys",
  description: "Returns the records in the order of `keys`. All are read from one state of the table: of a batch, either everything is visible or nothing. Keys without a record are in `missing`. When `items` is full, the remaining keys are in `unread`: ask for those again.",
  keyNeeded: "read",
  effect: "reads",
  returns: "The records found, and the keys of those that do not exist or did not fit.",
  codes: ["invalid_key", "batch_too_large", "batch_duplicate_keys", "table_not_found"],
  parse(text) {
    const { members, ...list } = runThrough(readFind(text));
    const { db, table, ...find } = members;
    const address = parseAddress(db, table);
    return { ...address, keys: parseKeys({ members: find, ...list }) };
  },
  run: findRecords,
  present: presentFound
});

// src/operations/records/get-record.ts
init_errors();
init_record_json();
init_record_key();
var findRecord = (access, input, nowMs) => andThen(requireTable(access, input, nowMs), (table) => access.engine.records.get(table, input, nowMs, access.apiKey.seq));
var recordNotFound = ({ rangeKey }) => new CubbyError2("record_not_found", "There is no record with that key.", {
  hint: rangeKey === noRangeKey ? ["If it has a range key, ", { give: "rangeKey" }, "."] : undefined
});
var getRecord = (access, input, nowMs) => andThen(findRecord(access, input, nowMs), (record) => {
  if (record === undefined)
    throw recordNotFound(input);
  return record;
});
var getRecordOperation = defineOperation({
  id: "getRecord",
  area: "records",
  summary: "Get a record by its key",
  description: "A record past its `ttl` does not exist.",
  keyNeeded: "read",
  effect: "reads",
  returns: "The record.",
  codes: ["table_not_found", "record_not_found"],
  parse(text) {
    const { db, table, ...key } = parsePlainBody(text);
    const address = parseAddress(db, table);
    refuseUnknownMembers(key, ["hashKey", "rangeKey"]);
    return { ...address, ...parseRecordKey(key.hashKey, key.rangeKey) };
  },
  run: getRecord,
  present: (record) => recordJson(record)
});

// src/operations/records/put-record.ts
init_record_json();
init_steps();
init_indices();
init_json_scan();
init_json_span();
var parsePut = (text, nowMs) => {
  if (isCheapToBuild(text))
    return parseSmallPut(text, nowMs);
  checkJson(text);
  const { value, data } = runThrough(readEnvelope(text, 0, ""));
  return parseRecordToPut(parseObject(value), text, data, nowMs);
};
var parseSmallPut = (text, nowMs) => {
  const members = parseObject(parseJson(text));
  let span;
  walkObject(text, 0, "", (name, start) => {
    const value = valueSpan(text, start);
    if (name === "data")
      span = value;
    return value.end;
  });
  const record = parseRecordToPut(members, text, span, nowMs);
  record.built = members.data;
  return record;
};
var putRecord = async (access, input, nowMs) => {
  const table = await requireTable(access, input, nowMs);
  const { hashKey, rangeKey, data, ttlSeconds, condition } = input;
  const entries = readIndexEntries(table.indices, input);
  const put = { op: "put", hashKey, rangeKey, data, ttlSeconds, entries, condition };
  const written = await writeRecords(access, input, table, [put], nowMs);
  if (!written.applied)
    throw preconditionFailed(written.current);
  const { updatedAtMs } = written.results[0];
  return { hashKey, rangeKey, data, ttlSeconds, updatedAtMs };
};
var parseInput = (text, nowMs) => {
  checkJson(text);
  const { value, data } = runThrough(readEnvelope(text, 0, ""));
  const { db, table, ifUpdatedAt, ...members } = parseObject(value);
  const address = parseAddress(db, table);
  const record = parseRecordToPut(members, text, data, nowMs);
  return { ...address, ...record, condition: parseCondition(ifUpdatedAt) };
};
var putRecordOperation = defineOperation({
  id: "putRecord",
  area: "records",
  summary: "Put a record: create it or replace it",
  description: "Creates a record or replaces the existing one. When the answer is sent, the record is on disk and in every index. With a condition, it is written only if the condition holds; of several writers that name the same version, at most one succeeds.",
  keyNeeded: "write",
  effect: "writes",
  returns: "The record.",
  codes: [
    "invalid_key",
    "invalid_index_value",
    "invalid_ttl",
    "table_not_found",
    "precondition_failed",
    "record_too_large"
  ],
  parse: parseInput,
  run: putRecord,
  present: (record) => recordJson(record)
});

// src/core/records/query.ts
init_errors();
init_limits();
init_index_value();
init_indices();

// src/core/records/range.ts
init_errors();
init_index_value();
init_record_key();
var rangeOperators = ["eq", "lt", "lte", "gt", "gte", "between", "beginsWith"];
var refuse5 = (field, message, hint) => {
  throw new CubbyError2("invalid_range", `${field} ${message}`, { field, hint });
};
var parseOperand = (value, over, field) => {
  if (over === "primary") {
    if (typeof value !== "string")
      return refuse5(field, `is ${describeValue(value)}; range keys are strings.`);
  } else if (over === "t") {
    const instant = typeof value === "string" ? coerceIndexValue(value) : value;
    if (typeof instant !== "number" || !Number.isFinite(instant)) {
      return refuse5(field, `is ${describeValue(value)}; t takes epoch milliseconds or an ISO-8601 date-time.`, 'Write it as 1767225600000 or "2026-01-01T00:00:00Z".');
    }
    return instant;
  }
  const fault = indexValueFault(value);
  if (fault !== undefined) {
    return refuse5(field, `is ${fault}; it takes ${over === "primary" ? "a string" : "a string, number or boolean"}.`);
  }
  return over === "primary" ? value : coerceIndexValue(value);
};
var parsePrefix = (value, over, field) => {
  if (over === "t")
    return refuse5(field, "is not allowed for t, which holds numbers.", "Use between, gte or lt.");
  if (typeof value !== "string")
    return refuse5(field, `is ${describeValue(value)}; beginsWith takes a string.`);
  const fault = indexValueFault(value);
  return fault === undefined ? value : refuse5(field, `is ${fault}.`);
};
var compareOperands = (a, b, over) => over === "primary" ? Buffer.compare(utf8Bytes(a), utf8Bytes(b)) : Buffer.compare(utf8Bytes(encodeIndexValue(a)), utf8Bytes(encodeIndexValue(b)));
var refuseBounds = (field, low, high, over, hint) => {
  if (typeof low !== typeof high) {
    refuse5(field, `has a ${typeof low} and a ${typeof high}; both bounds must have the same type.`);
  }
  if (compareOperands(low, high, over) > 0)
    refuse5(field, "has its low bound above its high one.", hint);
};
var operatorsRule = "it takes one operator, or one of gt and gte together with one of lt and lte";
var isLower = (name) => name === "gt" || name === "gte";
var isUpper = (name) => name === "lt" || name === "lte";
var operatorsHint = (names) => {
  if (names.includes("between"))
    return "between has both bounds already; leave the other operators out.";
  if (names.length === 2 && names.every(isLower))
    return "Both are lower bounds; leave one of them out.";
  if (names.length === 2 && names.every(isUpper))
    return "Both are upper bounds; leave one of them out.";
  return 'For example { "gte": 10, "lt": 20 }.';
};
var parseOperators = (names) => {
  const unknown = names.find((name) => !rangeOperators.includes(name));
  if (unknown !== undefined) {
    const found = `has the operator "${unknown.slice(0, 80).toWellFormed()}"`;
    return refuse5("range", `${found}; the operators are ${rangeOperators.join(", ")}.`);
  }
  if (names.length === 1)
    return names;
  const [lower, upper] = [names.find(isLower), names.find(isUpper)];
  if (names.length === 2 && lower !== undefined && upper !== undefined)
    return [lower, upper];
  const found = names.length === 0 ? "has no operator" : `has ${names.join(" and ")}`;
  return refuse5("range", `${found}; ${operatorsRule}.`, operatorsHint(names));
};
var parseRange = (value, over) => {
  if (value === undefined)
    return;
  if (typeof value !== "object" || value === null || Array.isArray(value)) {
    return refuse5("range", `is ${describeValue(value)}; it takes an object with one or two operators.`, 'For example { "gte": 10, "lt": 20 }.');
  }
  const operands = value;
  const [operator, upperOperator] = parseOperators(Object.keys(value));
  const operand = operands[operator];
  const field = `range.${operator}`;
  if (upperOperator !== undefined) {
    const low = parseOperand(operand, over, field);
    const high = parseOperand(operands[upperOperator], over, `range.${upperOperator}`);
    refuseBounds("range", low, high, over, `Give ${operator} the lower value.`);
    return { operator, operand: low, below: { operator: upperOperator, operand: high } };
  }
  if (operator === "beginsWith")
    return { operator, operand: parsePrefix(operand, over, field) };
  if (operator !== "between")
    return { operator, operand: parseOperand(operand, over, field) };
  if (!Array.isArray(operand) || operand.length !== 2) {
    return refuse5(field, `is ${describeValue(operand)}; it takes [low, high].`);
  }
  const low = parseOperand(operand[0], over, `${field}[0]`);
  const upper = parseOperand(operand[1], over, `${field}[1]`);
  refuseBounds(field, low, upper, over, "Put the lower bound first.");
  return { operator, operand: low, upper };
};
var prefixEnd = (prefix) => {
  for (let i = prefix.length - 1;i >= 0; i--) {
    if (prefix[i] === 255)
      continue;
    const end = prefix.slice(0, i + 1);
    end[i]++;
    return end;
  }
  return;
};
var aboveAllText = new Uint8Array([255]);
var beginsWithBounds = (prefix, high) => {
  const low = utf8Bytes(prefix);
  return { low, high: prefixEnd(low) ?? high };
};
var comparisonBounds = (range, encode, all) => {
  if (range.below !== undefined) {
    const { below, ...above } = range;
    return { low: comparisonBounds(above, encode, all).low, high: comparisonBounds(below, encode, all).high };
  }
  const at = encode(range.operand);
  switch (range.operator) {
    case "eq":
      return { low: utf8Bytes(at), high: utf8Bytes(`${at}\x00`) };
    case "lt":
      return { low: all.low, high: utf8Bytes(at) };
    case "lte":
      return { low: all.low, high: utf8Bytes(`${at}\x00`) };
    case "gt":
      return { low: utf8Bytes(`${at}\x00`), high: all.high };
    case "gte":
      return { low: utf8Bytes(at), high: all.high };
    default:
      return { low: utf8Bytes(at), high: utf8Bytes(`${encode(range.upper)}\x00`) };
  }
};
var primaryBounds = (range) => {
  const all = { low: new Uint8Array(0), high: aboveAllText };
  if (range === undefined)
    return all;
  if (range.operator === "beginsWith")
    return beginsWithBounds(range.operand, aboveAllText);
  return comparisonBounds(range, (value) => value, all);
};
var indexBounds = (range) => {
  if (range === undefined)
    return { low: new Uint8Array(0), high: aboveAllText };
  if (range.operator === "beginsWith")
    return beginsWithBounds(`s${range.operand}`, aboveAllText);
  const span = typeSpan(encodeIndexValue(range.operand));
  return comparisonBounds(range, encodeIndexValue, { low: utf8Bytes(span.low), high: utf8Bytes(span.high) });
};
var timeEnd = Number.MAX_SAFE_INTEGER;
var clamp = (value) => Math.min(Math.max(value, -timeEnd), timeEnd);
var timeBounds = (range) => {
  if (range === undefined)
    return { low: -timeEnd, high: timeEnd };
  if (range.below !== undefined) {
    const { below, ...above } = range;
    return { low: timeBounds(above).low, high: timeBounds(below).high };
  }
  const at = range.operand;
  const from = (value) => clamp(Math.ceil(value));
  const after = (value) => clamp(Math.floor(value) + 1);
  switch (range.operator) {
    case "eq":
      return { low: from(at), high: after(at) };
    case "lt":
      return { low: -timeEnd, high: from(at) };
    case "lte":
      return { low: -timeEnd, high: after(at) };
    case "gt":
      return { low: after(at), high: timeEnd };
    case "gte":
      return { low: from(at), high: timeEnd };
    default:
      return { low: from(at), high: after(range.upper) };
  }
};

// src/core/records/query.ts
init_record_key();
init_scan();
var selections = ["data", "keys", "count"];
var queryFields = ["index", "hash", "range", "select", "limit", "ascending", "cursor"];
var parseIndexName = (value) => {
  if (value === undefined)
    return "primary";
  if (value === "t" || slots.includes(value))
    return value;
  throw new CubbyError2("invalid_request", `index is ${describeValue(value)}; it takes "t" or one of "i1" to "i5".`, {
    field: "index",
    hint: "Leave index out to query by primary key."
  });
};
var parseSelection = (value) => {
  if (value === undefined)
    return "data";
  if (selections.includes(value))
    return value;
  throw new CubbyError2("invalid_request", `select is ${describeValue(value)}; it takes "data", "keys" or "count".`, {
    field: "select",
    hint: "Leave select out to get whole records."
  });
};
var parseQueryLimit = (value, select) => select === "count" ? parseLimit(value, countRowsMax, countRowsMax) : parseLimit(value, pageRowsDefault, pageRowsMax);
var parseQuery = (members) => {
  refuseUnknownMembers(members, queryFields);
  const index = parseIndexName(members.index);
  if (index === "t" && members.hash !== undefined) {
    throw new CubbyError2("invalid_request", "hash is not a field of a query by t, which covers the whole table.", {
      field: "hash",
      hint: "Leave hash out, or query by primary key or a declared index."
    });
  }
  if (members.ascending !== undefined && typeof members.ascending !== "boolean") {
    throw new CubbyError2("invalid_request", `ascending is ${describeValue(members.ascending)}; it takes true or false.`, {
      field: "ascending"
    });
  }
  if (index === "primary" && members.hash === undefined)
    throw missingHash();
  if (index === "primary")
    parseKeyPart(members.hash, "hash");
  const select = parseSelection(members.select);
  return {
    index,
    hash: members.hash,
    range: parseRange(members.range, index === "primary" || index === "t" ? index : "index"),
    select,
    limit: parseQueryLimit(members.limit, select),
    ascending: members.ascending ?? index !== "t",
    cursor: members.cursor ?? undefined
  };
};
var missingHash = () => new CubbyError2("invalid_key", "hash is missing; it takes a string.", {
  field: "hash",
  hint: 'Give hash, or index: "t" for the newest records of the table.'
});
var declaredIndexScan = (query, slot, indices) => {
  const declaration = indices[slot];
  if (declaration === undefined) {
    const declared = Object.entries(indices).map(([name, { hashField }]) => `${name} (${hashField})`);
    throw new CubbyError2("index_not_declared", `The table declares no index ${slot}.`, {
      field: "index",
      hint: declared.length === 0 ? "It declares none; indices are declared when a table is created." : `Declared: ${declared.join(", ")}.`
    });
  }
  const fault = indexValueFault(query.hash);
  if (fault !== undefined) {
    throw new CubbyError2("invalid_index_value", `hash is ${fault}; index ${slot} takes a string, number or boolean.`, {
      field: "hash",
      hint: `Give the value of ${declaration.hashField} to look for.`
    });
  }
  if (query.range !== undefined && declaration.rangeField === undefined) {
    throw new CubbyError2("invalid_range", `range is not allowed: index ${slot} was declared without a rangeField.`, {
      field: "range",
      hint: "Leave range out."
    });
  }
  const hash = encodeIndexValue(query.hash);
  return { index: slot, hash, ...indexBounds(query.range), lowId: 0, highId: 0, descending: !query.ascending };
};
var wholeScan = (query, indices) => {
  const ids = { lowId: 0, highId: 0, descending: !query.ascending };
  if (query.index === "primary") {
    return { index: "primary", hash: query.hash, ...primaryBounds(query.range), ...ids };
  }
  if (query.index === "t")
    return { index: "t", ...timeBounds(query.range), ...ids };
  return declaredIndexScan(query, query.index, indices);
};
var planQuery = (query, tableId, indices, seal) => {
  const whole = wholeScan(query, indices);
  if (query.cursor === undefined)
    return { whole, page: whole, fingerprint: undefined };
  const fingerprint = scanFingerprint(tableId, whole);
  return {
    whole,
    page: resumeScan(whole, decodeScanCursor(seal, query.cursor, tableId, whole, fingerprint)),
    fingerprint
  };
};

// src/operations/records/query-records.ts
init_record_json();
init_scan();
var readPage = ({ engine, apiKey }, table, { select, limit }, page, nowMs) => {
  if (select === "count") {
    return andThen(engine.records.count(table, page, limit, nowMs, apiKey.seq), ({ count, next }) => ({
      select,
      records: [],
      count,
      next
    }));
  }
  const found = select === "keys" ? engine.records.scanKeys(table, page, limit, nowMs, apiKey.seq) : engine.records.scan(table, page, limit, nowMs, apiKey.seq);
  return andThen(found, ({ records, next }) => ({ select, records, count: records.length, next }));
};
var queryRecords = async (access, input, nowMs) => {
  const { query } = input;
  const seal = access.engine.cursorSeal;
  const table = await requireTable(access, input, nowMs);
  const { whole, page, fingerprint } = planQuery(query, table.id, table.indices, seal);
  if (isEmptyScan(whole))
    return { select: query.select, records: [], count: 0, cursor: null };
  const { select, records, count, next } = await readPage(access, table, query, page, nowMs);
  const cursor = next === undefined ? null : encodeScanCursor(seal, table.id, whole, next, fingerprint);
  return { select, records, count, cursor };
};
var queryPageJson = ({ select, records, count, cursor }) => {
  if (select === "data")
    return pageJson(records, cursor);
  return select === "keys" ? keysPageJson(records, cursor) : countPageJson(count, cursor);
};
var queryRecordsOperation = defineOperation({
  id: "queryRecords",
  area: "records",
  summary: "Query records by key, by time of the last write or by an index",
  description: `Three forms:

- by primary key: \`hash\`, ordered by range key;
- by recency: \`index: "t"\` and no \`hash\`, ordered by \`updatedAt\`, newest first unless \`ascending\` is true;
- by declared index: \`index: "i1"\` to \`"i5"\` and \`hash\`, ordered by the index's range field.

The values of an index are ordered: false, true, numbers, then strings by their UTF-8 bytes. A write is in every index when its answer is sent. ${pagesNote} A cursor is valid only with the same table, hash, index, range and direction; \`limit\` and \`select\` may change.

With \`select: "keys"\` the items have no \`data\`; with \`select: "count"\` there are no items, and \`count\` is the number of records that matched.`,
  keyNeeded: "read",
  effect: "reads",
  returns: "A page of records.",
  codes: [
    "invalid_key",
    "invalid_index_value",
    "index_not_declared",
    "invalid_range",
    "invalid_cursor",
    "table_not_found"
  ],
  parse(text) {
    const { db, table, ...query } = parsePlainBody(text);
    return { ...parseAddress(db, table), query: parseQuery(query) };
  },
  run: queryRecords,
  present: queryPageJson
});

// src/http/routes/records.ts
var recordPaths = [
  "/v1/:db/:table/:hashKey",
  "/v1/:db/:table/:hashKey/:rangeKey",
  "/v1/:db/:table/query",
  "/v1/:db/:table/find",
  "/v1/:db/:table/batch",
  "/v1/:db/:table/restore"
];
var recordRoutes = {
  putRecord: {
    operation: putRecordOperation,
    method: "PUT",
    paths: ["/v1/:db/:table"],
    body: { schema: "PutRecordRequest", required: true, bytesMax: bodyBytesMax }
  },
  queryRecords: {
    operation: queryRecordsOperation,
    method: "POST",
    paths: ["/v1/:db/:table/query"],
    body: { schema: "QueryRequest", required: true, bytesMax: plainBodyBytesMax }
  },
  findRecords: {
    operation: findRecordsOperation,
    method: "POST",
    paths: ["/v1/:db/:table/find"],
    body: { schema: "FindRequest", required: true, bytesMax: bodyBytesMax }
  },
  applyBatch: {
    operation: applyBatchOperation,
    method: "POST",
    paths: ["/v1/:db/:table/batch"],
    body: { schema: "BatchRequest", required: true, bytesMax: batchBodyBytesMax }
  },
  getRecord: { operation: getRecordOperation, method: "GET", paths: recordPaths },
  deleteRecord: { operation: deleteRecordOperation, method: "DELETE", paths: recordPaths }
};

// src/http/routes/route.ts
var pathParameters = (path) => Array.from(path.matchAll(/:(\w+)/g), ([, name]) => name);
var literalHashKey = (path) => /^\/v1\/:db\/:table\/([a-z]+)$/.exec(path)?.[1];
var literalParameter = (path) => {
  const hashKey = literalHashKey(path);
  if (hashKey !== undefined)
    return { hashKey };
  const id = /^\/api\/keys\/([a-z]+)$/.exec(path)?.[1];
  return id === undefined ? undefined : { id };
};
var pathFor = ({ paths }, input) => {
  const fits = (path) => pathParameters(path).reduce((sum, name) => sum + (input[name] === undefined ? -1 : 1), 0);
  const [main, ...others] = paths;
  const withoutWords = others.filter((path) => literalHashKey(path) === undefined);
  return withoutWords.reduce((best, path) => fits(path) > fits(best) ? path : best, main);
};
var targetFor = (route, input) => {
  const path = pathFor(route, input).replace(/:(\w+)/g, (parameter, name) => input[name] === undefined ? parameter : encodeURIComponent(String(input[name])));
  const query = (route.query ?? []).filter((name) => input[name] !== undefined).map((name) => `${name}=${input[name]}`);
  return query.length === 0 ? path : `${path}?${query.join("&")}`;
};

// src/http/routes/tables.ts
init_limits();

// src/operations/tables/create-table.ts
init_errors();
init_indices();

// src/operations/tables/present-table.ts
init_limits();
var presentTable = (table) => {
  const { db, name, indices, createdAtMs, deletedAtMs } = table;
  const common = { db, table: name, indices };
  if (deletedAtMs === null)
    return { ...common, status: "active", createdAt: createdAtMs };
  return {
    ...common,
    status: "deleted",
    createdAt: createdAtMs,
    deletedAt: deletedAtMs,
    recoverableUntil: deletedAtMs + recoveryMs
  };
};
var tableJson = (table) => JSON.stringify(presentTable(table));

// src/operations/tables/create-table.ts
var parseCreateTable = (members) => {
  refuseUnknownMembers(members, ["indices"]);
  return parseIndices(members.indices);
};
var createTable = async (access, { db, table: name, indices }, nowMs) => {
  const result = await access.engine.tables.create(callerOf(access), db, name, indices, nowMs);
  if (!result.created && JSON.stringify(result.table.indices) !== JSON.stringify(indices)) {
    throw new CubbyError2("table_exists", `The table ${name} exists with other indices, and indices are immutable.`, {
      field: "indices",
      hint: `It declares ${JSON.stringify(result.table.indices)}. Use those, or create a table with another name.`
    });
  }
  return result;
};
var createTableOperation = defineOperation({
  id: "createTable",
  area: "tables",
  summary: "Create a table and declare its indices",
  description: "A table may declare up to five indices, in the slots `i1` to `i5`. Indices are sparse: a record without the indexed fields is stored but is not in the index. Every table also has the index `t`, by `updatedAt`, which is not declared.",
  keyNeeded: "write",
  effect: "writes",
  returns: "The table.",
  codes: ["invalid_index", "table_exists"],
  parse(text) {
    const { db, table, ...declaration } = parsePlainBody(text);
    return { ...parseAddress(db, table), indices: parseCreateTable(declaration) };
  },
  run: createTable,
  present: ({ table }) => tableJson(table)
});

// src/operations/tables/delete-table.ts
var deleteTable = async (access, address, nowMs) => {
  const table = await access.engine.tables.delete(callerOf(access), address.db, address.table, nowMs);
  if (table === undefined)
    throw await tableNotFound(access, address, nowMs);
  return table;
};
var deleteTableOperation = defineOperation({
  id: "deleteTable",
  area: "tables",
  summary: "Delete a table; it can be restored for 7 days",
  description: "Once the answer is sent, the table can only be restored, and its name is free. It can be restored for 7 days, with all its records; after that they are removed permanently.",
  keyNeeded: "write",
  effect: "destroys",
  returns: "The deleted table.",
  codes: ["table_not_found"],
  parse: parseAddressAlone,
  run: deleteTable,
  present: tableJson
});

// src/operations/tables/describe-table.ts
var describeTable = requireTable;
var describeTableOperation = defineOperation({
  id: "describeTable",
  area: "tables",
  summary: "Show a table: its indices and when it was created",
  description: "Returns the indices of the table and when it was created.",
  keyNeeded: "read",
  effect: "reads",
  returns: "The table.",
  codes: ["table_not_found"],
  parse: parseAddressAlone,
  run: describeTable,
  present: tableJson
});

// src/operations/tables/list-databases.ts
var listDatabases = async (access, { limit, cursor }) => {
  const { engine, apiKey } = access;
  const seal = engine.cursorSeal;
  const after = cursor === undefined ? undefined : decodeListCursor(seal, cursor, "databases", ["string"])[0];
  let found;
  if (apiKey.databases === null)
    found = await engine.tables.listDatabases(apiKey.orgId, after, limit + 1);
  else {
    found = [];
    for (const db of [...apiKey.databases].sort()) {
      if (after !== undefined && db <= after)
        continue;
      const [table] = await engine.tables.list({ orgId: apiKey.orgId, db, after: undefined, limit: 1 });
      if (table !== undefined)
        found.push(db);
    }
  }
  const databases = found.slice(0, limit);
  return { databases, cursor: found.length > limit ? encodeListCursor(seal, "databases", [databases.at(-1)]) : null };
};
var listDatabasesOperation = defineOperation({
  id: "listDatabases",
  area: "tables",
  summary: "List databases",
  description: `The databases that the API key may use and that have a table, by name. ${pagesNote}`,
  keyNeeded: "read",
  effect: "reads",
  returns: "A page of names.",
  codes: ["invalid_cursor"],
  parse(text) {
    const members = parsePlainBody(text);
    refuseUnknownMembers(members, ["limit", "cursor"]);
    return parseListing(members);
  },
  run: listDatabases,
  present: (page) => JSON.stringify(page)
});

// src/operations/tables/list-tables.ts
init_names();
var listTables = async (access, input, nowMs) => {
  const { db, deleted, limit, cursor } = input;
  const seal = access.engine.cursorSeal;
  const listing = `${deleted ? "deleted" : "tables"}:${db}`;
  const place = cursor === undefined ? undefined : decodeListCursor(seal, cursor, listing, ["string", "number"]);
  const after = place && { name: place[0], deletedAtMs: place[1] };
  const request = { orgId: access.apiKey.orgId, db, after, limit: limit + 1 };
  const found = await (deleted ? access.engine.tables.listDeleted(request, nowMs) : access.engine.tables.list(request));
  const tables = found.slice(0, limit);
  const last = tables.at(-1);
  return {
    tables,
    cursor: found.length > limit ? encodeListCursor(seal, listing, [last.name, last.deletedAtMs ?? 0]) : null
  };
};
var listTablesOperation = defineOperation({
  id: "listTables",
  area: "tables",
  summary: "List the tables of a database",
  description: `The tables of a database, by name. For a database without tables the list is empty. ${pagesNote}`,
  keyNeeded: "read",
  effect: "reads",
  returns: "A page of tables.",
  codes: ["invalid_cursor"],
  parse(text) {
    const { db, ...members } = parsePlainBody(text);
    refuseUnknownMembers(members, ["limit", "cursor", "deleted"]);
    return { db: parseName(db, "db"), deleted: parseFlag(members.deleted, "deleted"), ...parseListing(members) };
  },
  run: listTables,
  present: ({ tables, cursor }) => JSON.stringify({ tables: tables.map(presentTable), cursor })
});

// src/operations/tables/restore-table.ts
init_errors();
init_hint();
var parseRestoreTable = (members) => {
  refuseUnknownMembers(members, ["deletedAt"]);
  const { deletedAt } = members;
  if (deletedAt === undefined || Number.isSafeInteger(deletedAt))
    return deletedAt;
  throw new CubbyError2("invalid_request", `deletedAt is ${describeValue(deletedAt)}; it takes epoch milliseconds.`, {
    field: "deletedAt",
    hint: ["Leave it out for the table deleted last, or take it from ", call("listTables", { deleted: true }), "."]
  });
};
var restoreTable = async (access, input, nowMs) => {
  const { db, table, deletedAtMs } = input;
  const result = await access.engine.tables.restore(callerOf(access), db, table, deletedAtMs, nowMs);
  switch (result.outcome) {
    case "restored":
    case "active":
      return result.table;
    case "taken":
      throw new CubbyError2("table_exists", `An active table has the name ${table}.`, {
        hint: [
          "Delete it first (",
          call("deleteTable", { db, table }),
          "), then restore with ",
          { send: { deletedAt: result.deletedAtMs } },
          "."
        ]
      });
    case "missing":
      if (deletedAtMs === undefined)
        throw await tableNotFound(access, input, nowMs);
      throw new CubbyError2("table_not_found", `No recoverable table ${table} was deleted at ${deletedAtMs}.`, {
        field: "deletedAt",
        hint: ["See ", call("listTables", { db, deleted: true }), ", or leave deletedAt out for the newest."]
      });
  }
};
var restoreTableOperation = defineOperation({
  id: "restoreTable",
  area: "tables",
  summary: "Restore a deleted table with all its records",
  description: "Makes a deleted table active again, with all its records and indices: the one deleted last, or another one by its `deletedAt`. If the table is active and no table with that name is deleted, nothing changes.",
  keyNeeded: "write",
  effect: "writes",
  returns: "The active table.",
  codes: ["table_not_found", "table_exists"],
  parse(text) {
    const { db, table, ...which } = parsePlainBody(text);
    return { ...parseAddress(db, table), deletedAtMs: parseRestoreTable(which) };
  },
  run: restoreTable,
  present: tableJson
});

// src/http/routes/tables.ts
var optionalBody = (schema) => ({
  schema,
  required: false,
  bytesMax: plainBodyBytesMax
});
var tableRoutes = {
  listDatabases: { operation: listDatabasesOperation, method: "GET", paths: ["/v1"], query: ["limit", "cursor"] },
  listTables: {
    operation: listTablesOperation,
    method: "GET",
    paths: ["/v1/:db"],
    query: ["limit", "cursor", "deleted"]
  },
  describeTable: { operation: describeTableOperation, method: "GET", paths: ["/v1/:db/:table"] },
  createTable: {
    operation: createTableOperation,
    method: "POST",
    paths: ["/v1/:db/:table"],
    body: optionalBody("CreateTableRequest")
  },
  deleteTable: { operation: deleteTableOperation, method: "DELETE", paths: ["/v1/:db/:table"] },
  restoreTable: {
    operation: restoreTableOperation,
    method: "POST",
    paths: ["/v1/:db/:table/restore"],
    body: optionalBody("RestoreTableRequest")
  }
};

// src/http/routes/operation-routes.ts
var operationRoutes = { ...tableRoutes, ...recordRoutes, ...apiKeyRoutes };
var byId = operationRoutes;
var isVerbAsKey = (path, operationId) => literalHashKey(path) !== undefined && byId[operationId].paths.some((one) => pathParameters(one).includes("hashKey"));
var verbs = [
  ...new Set(Object.values(byId).flatMap((route) => route.paths.flatMap((path) => literalHashKey(path) ?? [])))
].sort();
var findRoute = (operationId) => byId[operationId];

// src/http/body.ts
init_errors();
init_limits();

// src/http/body-faults.ts
init_errors();
init_limits();
var tooLarge = (bytesMax, hint) => new CubbyError2("body_too_large", `The body is larger than ${bytesMax} bytes.`, { hint });
var tooMany = () => new CubbyError2("unavailable", "Too many bodies of requests with this API key are arriving at once.", {
  hint: "Repeat the request after the time in Retry-After; nothing was applied."
});
var cutShort = () => new CubbyError2("invalid_request", "The body ended before it was complete.");

class BodyAbandoned extends CubbyError2 {
}
var tooSlow = () => new BodyAbandoned("unavailable", `The body did not arrive within ${bodyMsMax / 1000} seconds; nothing was applied.`, {
  hint: "Send the whole body at once."
});
var stalled = () => new BodyAbandoned("unavailable", `Fewer than ${bodyProgressBytesMin} bytes of the body arrived within ${bodyMsMax / 1000} seconds; the server stopped reading it.`, { hint: "Repeat the request and send the body without long pauses." });
var tooFine = () => new BodyAbandoned("invalid_request", `The body has more than ${bodyChunksFreeMax} chunks, of fewer than ${bodyChunkBytesMin} bytes on average.`, { hint: "Send it with Content-Length, or in larger chunks." });
var paused = () => new BodyAbandoned("unavailable", "Another body sent with this API key had too many chunks; chunked bodies must wait.", {
  hint: "Repeat the request after the time in Retry-After, or send it with Content-Length."
});
var ambiguousLength = () => new BodyAbandoned("invalid_request", "Content-Length is not one number.", {
  hint: "Send Content-Length once."
});
var withoutLength = () => new CubbyError2("invalid_request", "The body is chunked; this request needs Content-Length.", {
  hint: "Send the body with its length."
});

// src/http/deadlines.ts
var expireTogetherMax = 64;

class Deadlines {
  #msMax;
  #timed = new Set;
  #watch;
  constructor(msMax, lookEveryMs) {
    this.#msMax = msMax;
    this.#watch = setInterval(() => this.#expireSome(), lookEveryMs);
    this.#watch.unref();
  }
  get size() {
    return this.#timed.size;
  }
  add(timed) {
    this.#timed.add(timed);
  }
  remove(timed) {
    return this.#timed.delete(timed);
  }
  stop() {
    clearInterval(this.#watch);
  }
  #expireSome = () => {
    const startedBefore = performance.now() - this.#msMax;
    let expired = 0;
    for (const timed of this.#timed) {
      if (timed.startedAtMs > startedBefore)
        return;
      if (expired++ === expireTogetherMax) {
        setImmediate(this.#expireSome);
        return;
      }
      this.#timed.delete(timed);
      timed.expire();
    }
  };
}

// src/http/body.ts
var wholeBytesMax = 16 * 1024;
var joinedBytes = 4 * 1024;
var lookEveryMs = 1000;
var fineChunksPauseMs = 1000;
var pausedKeysMax = 1000;
var sendLessHint = "Send less at once: several records in several requests.";
var decoder = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true });

class Pieces {
  #pieces = [];
  #joined;
  #joinedLength = 0;
  length = 0;
  push(piece) {
    this.length += piece.length;
    if (piece.length >= joinedBytes / 2) {
      this.#closeJoined();
      this.#pieces.push(piece);
      return;
    }
    if (this.#joinedLength + piece.length > joinedBytes)
      this.#closeJoined();
    this.#joined ??= new Uint8Array(joinedBytes);
    this.#joined.set(piece, this.#joinedLength);
    this.#joinedLength += piece.length;
  }
  all() {
    this.#closeJoined();
    return this.#pieces.length === 1 ? this.#pieces[0] : Buffer.concat(this.#pieces);
  }
  #closeJoined() {
    if (this.#joined === undefined)
      return;
    this.#pieces.push(this.#joined.subarray(0, this.#joinedLength));
    this.#joined = undefined;
    this.#joinedLength = 0;
  }
}

class Progress {
  #waitedMs = 0;
  #bytes = 0;
  add(bytes, waitedMs) {
    this.#bytes += bytes;
    this.#waitedMs += waitedMs;
    if (this.#bytes >= bodyProgressBytesMin) {
      this.#bytes = 0;
      this.#waitedMs = 0;
    }
    return this.#waitedMs <= bodyMsMax;
  }
}

class BodyReader {
  #inFlight = new Shares(bodiesInFlightBytesMax);
  #deadlines = new Deadlines(bodyMsMax, lookEveryMs);
  #pausedUntilMs = new Map;
  stop() {
    this.#deadlines.stop();
  }
  release(holder) {
    if (holder.heldBytes === 0)
      return;
    this.#inFlight.give(holder.orgId, holder.keySeq, holder.heldBytes);
    holder.heldBytes = 0;
  }
  async read(request, bytesMax, holder) {
    const { headers } = request;
    const length = declaredLength(headers);
    if (length === 0 || length === undefined && request.body === null)
      return "";
    refuseOtherTypes(headers);
    if (length !== undefined && length > bytesMax)
      throw tooLarge(bytesMax, sendLessHint);
    if (length === undefined && this.#isPaused(holder.keySeq))
      throw paused();
    const bytes = length !== undefined && length <= wholeBytesMax ? await this.#readWhole(request) : await this.#readPieces(request, bytesMax, holder);
    try {
      return decoder.decode(bytes);
    } catch {
      throw new CubbyError2("invalid_json", "The body is not valid UTF-8.", { hint: "Send JSON in UTF-8." });
    }
  }
  stream(request, bytesMax, holder) {
    const length = declaredLength(request.headers);
    if (request.headers.has("transfer-encoding"))
      throw withoutLength();
    if (length !== undefined && length > bytesMax)
      throw tooLarge(bytesMax);
    return this.#pieces(request.body, holder);
  }
  async* #pieces(body, holder) {
    if (body === null)
      return;
    const fault = this.#keep(bodyStreamBytes, holder);
    if (fault !== undefined)
      throw fault;
    const reader = body.getReader();
    const progress = new Progress;
    let isComplete = false;
    try {
      for (;; ) {
        const askedAtMs = performance.now();
        const { value, done } = await this.#nextPiece(reader);
        if (done) {
          isComplete = true;
          return;
        }
        if (!progress.add(value.length, performance.now() - askedAtMs))
          throw stalled();
        yield value;
      }
    } finally {
      if (!isComplete)
        reader.cancel().catch(() => {});
      this.release(holder);
    }
  }
  #nextPiece(reader) {
    return new Promise((resolve, reject) => {
      const reading = { startedAtMs: performance.now(), expire: () => reject(stalled()) };
      this.#deadlines.add(reading);
      reader.read().then((result) => {
        this.#deadlines.remove(reading);
        resolve(result);
      }, () => {
        this.#deadlines.remove(reading);
        reject(cutShort());
      });
    });
  }
  #readWhole(request) {
    return new Promise((resolve, reject) => {
      const reading = { startedAtMs: performance.now(), expire: () => reject(tooSlow()) };
      this.#deadlines.add(reading);
      request.bytes().then((bytes) => {
        this.#deadlines.remove(reading);
        resolve(bytes);
      }, () => {
        this.#deadlines.remove(reading);
        reject(cutShort());
      });
    });
  }
  #readPieces(request, bytesMax, holder) {
    return new Promise((resolve, reject) => {
      const reader = request.body.getReader();
      const body = new Pieces;
      let pieces = 0;
      const reading = { startedAtMs: performance.now(), expire: () => abandon(tooSlow()) };
      this.#deadlines.add(reading);
      let isOver = false;
      const abandon = (error) => {
        isOver = true;
        this.#deadlines.remove(reading);
        reader.cancel().catch(() => {});
        reject(error);
      };
      const onPiece = ({ value, done }) => {
        if (isOver)
          return;
        if (done) {
          this.#deadlines.remove(reading);
          resolve(body.all());
          return;
        }
        body.push(value);
        const fault = this.#keep(value.length, holder) ?? this.#faultOf(body.length, ++pieces, bytesMax, holder);
        if (fault === undefined)
          reader.read().then(onPiece, onFault);
        else
          abandon(fault);
      };
      const onFault = () => {
        if (!isOver)
          abandon(cutShort());
      };
      reader.read().then(onPiece, onFault);
    });
  }
  #keep(bytes, holder) {
    if (!this.#inFlight.tryTake(holder.orgId, holder.keySeq, bytes))
      return tooMany();
    holder.heldBytes += bytes;
    return;
  }
  #faultOf(bytes, pieces, bytesMax, { keySeq }) {
    if (bytes > bytesMax)
      return tooLarge(bytesMax, sendLessHint);
    if (pieces <= bodyChunksFreeMax + bytes / bodyChunkBytesMin)
      return;
    if (this.#pausedUntilMs.size >= pausedKeysMax)
      this.#pausedUntilMs.clear();
    this.#pausedUntilMs.set(keySeq, performance.now() + fineChunksPauseMs);
    return tooFine();
  }
  #isPaused(keySeq) {
    const untilMs = this.#pausedUntilMs.get(keySeq);
    if (untilMs === undefined)
      return false;
    if (performance.now() < untilMs)
      return true;
    this.#pausedUntilMs.delete(keySeq);
    return false;
  }
}
var declaredLength = (headers) => {
  const header = headers.get("content-length");
  if (header === null)
    return;
  if (!/^[0-9]{1,15}$/.test(header))
    throw ambiguousLength();
  return Number(header);
};
var refuseOtherTypes = (headers) => {
  const type = headers.get("content-type");
  if (type !== null && type !== "application/json" && !/^application\/json\s*(?:;|$)/i.test(type.trim())) {
    throw new CubbyError2("unsupported_media_type", "The body is not declared as application/json.", {
      hint: 'Send "Content-Type: application/json".'
    });
  }
  const encoding = headers.get("content-encoding");
  if (encoding !== null && encoding.toLowerCase() !== "identity") {
    throw new CubbyError2("unsupported_media_type", "Compressed bodies are not supported.", {
      hint: "Send the body without Content-Encoding."
    });
  }
};
var refuseBody = (headers) => {
  const length = headers.get("content-length");
  if ((length === null || Number(length) === 0) && !headers.has("transfer-encoding"))
    return;
  refuseOtherTypes(headers);
  throw new CubbyError2("invalid_request", "This request takes no body.", {
    hint: "Send it without one; keys go in the path, conditions in If-Match."
  });
};

// src/http/respond.ts
init_record_json();

// src/http/hint-text.ts
init_hint();
var http = (names) => ({
  call({ operation, input }) {
    const route = findRoute(operation);
    return route === undefined ? operation : `${route.method} ${targetFor(route, { ...names, ...input })}`;
  },
  send: (members) => `{ ${Object.entries(members).map(([name, value]) => `"${name}": ${JSON.stringify(value)}`).join(", ")} }`,
  give: () => "add it to the path",
  repeatLater: "Repeat the request after the time in Retry-After"
});
var httpHint = (hint, names = {}) => hint === undefined ? undefined : hintText(hint, http(names));
var docsNote = "The API is documented at /docs.";
var written = /(?:GET|PUT|POST|DELETE) \/(?:v1|api)(?:[^\s,;)]*[^\s,;).])?|\{ "\w+": -?\d+ \}|Repeat the request after the time in Retry-After|add it to the path/g;
var plainValue = /^[A-Za-z0-9_-]+$/;
var readPath = (path, wanted) => {
  const segments = wanted.split("/");
  const input = {};
  const fits = path.split("/").every((part, i) => {
    const segment = segments[i];
    if (segment === undefined || !part.startsWith(":"))
      return part === segment;
    if (segment === part)
      return true;
    input[part.slice(1)] = segment;
    return plainValue.test(segment);
  });
  return fits && path.split("/").length === segments.length ? input : undefined;
};
var readCall = (text) => {
  const [, method, path, query] = /^(\w+) ([^?]*)\??(.*)$/.exec(text);
  for (const route of Object.values(operationRoutes)) {
    if (route.method !== method)
      continue;
    for (const candidate of route.paths) {
      const input = readPath(candidate, path);
      if (input === undefined)
        continue;
      const parameters = [...new URLSearchParams(query)];
      if (!parameters.every(([, value]) => plainValue.test(value)))
        return;
      return { operation: route.operation.id, input: { ...input, ...Object.fromEntries(parameters) } };
    }
  }
  return;
};
var readPart = (text) => {
  if (text.startsWith("{"))
    return { send: JSON.parse(text) };
  if (text.startsWith("Repeat"))
    return { repeat: "later" };
  if (text.startsWith("add"))
    return { give: "rangeKey" };
  return readCall(text) ?? text;
};
var readHttpHint = (whole) => {
  const text = whole.replace(docsNote, "").trimEnd();
  const parts = [];
  let from = 0;
  for (const { 0: found, index } of text.matchAll(written)) {
    parts.push(text.slice(from, index), readPart(found));
    from = index + found.length;
  }
  return parts.length === 0 ? text : [...parts, text.slice(from)].filter((part) => part !== "");
};

// src/http/status.ts
var statusOf = {
  invalid_json: 400,
  invalid_request: 400,
  invalid_name: 400,
  reserved_name: 400,
  invalid_key: 400,
  invalid_index: 400,
  invalid_index_value: 400,
  index_not_declared: 400,
  invalid_range: 400,
  invalid_cursor: 400,
  invalid_ttl: 400,
  batch_too_large: 400,
  batch_duplicate_keys: 400,
  missing_api_key: 401,
  invalid_api_key: 401,
  expired_api_key: 401,
  revoked_api_key: 403,
  read_only_key: 403,
  key_scope: 403,
  secret_key_in_browser: 403,
  route_not_found: 404,
  table_not_found: 404,
  record_not_found: 404,
  key_not_found: 404,
  method_not_allowed: 405,
  table_exists: 409,
  precondition_failed: 412,
  record_too_large: 413,
  body_too_large: 413,
  unsupported_media_type: 415,
  internal: 500,
  store_damaged: 500,
  outcome_unknown: 500,
  unavailable: 503,
  storage_full: 507
};
var retryAfterSeconds = 1;

// src/http/respond.ts
var exposedHeaders = "ETag, Retry-After, X-Request-Id";
var commonHeaders = new Headers({
  "Content-Type": "application/json",
  "Cache-Control": "private, no-cache",
  "Access-Control-Allow-Origin": "*",
  "Access-Control-Expose-Headers": exposedHeaders,
  "X-Content-Type-Options": "nosniff",
  Vary: "Authorization"
});
var respond = (requestId, body, status = 200) => {
  const response = new Response(body, { status, headers: commonHeaders });
  response.headers.set("X-Request-Id", requestId);
  return response;
};
var tagged = (response, version) => {
  response.headers.set("ETag", `"${version}"`);
  return response;
};
var respondJson = (requestId, body, status = 200) => respond(requestId, JSON.stringify(body), status);
var respondText = (requestId, text, status = 200) => respond(requestId, text, status);
var respondLongText = (exchange, text) => respond(exchange.requestId, exchange.bodyOf(text));
var respondRecord = (exchange, record) => {
  const version = String(record.updatedAtMs);
  return tagged(respond(exchange.requestId, exchange.bodyOf(recordJson(record, version))), version);
};
var respondMinimal = (requestId, record) => tagged(respond(requestId, headJson(record)), String(record.updatedAtMs));
var respondNotModified = (requestId, updatedAtMs) => tagged(respond(requestId, null, 304), String(updatedAtMs));
var respondEntryPoint = (requestId, entryPoint) => {
  const response = respondJson(requestId, entryPoint);
  response.headers.set("Vary", "Accept");
  return response;
};
var respondRedirect = (requestId, path) => {
  const response = respond(requestId, null, 302);
  response.headers.delete("Content-Type");
  response.headers.set("Location", path);
  response.headers.set("Vary", "Accept");
  return response;
};
var respondError = (requestId, error, { allow, names } = {}) => {
  const { code, message, field } = error;
  const status = statusOf[code];
  const isLost = status === 401 || code === "route_not_found";
  const own = httpHint(error.hint, names);
  const hint = isLost ? [own, docsNote].join(" ").trimStart() : own;
  const response = respondJson(requestId, { error: { code, message, field, hint, requestId } }, status);
  if (status === 401)
    response.headers.set("WWW-Authenticate", "Bearer");
  if (status === 503)
    response.headers.set("Retry-After", String(retryAfterSeconds));
  if (allow !== undefined)
    response.headers.set("Allow", allow);
  return response;
};
var respondPreflight = (requestId) => new Response(null, {
  status: 204,
  headers: {
    "X-Request-Id": requestId,
    "Access-Control-Allow-Origin": "*",
    "Access-Control-Allow-Methods": "GET, HEAD, POST, PUT, DELETE, OPTIONS",
    "Access-Control-Allow-Headers": "authorization, content-type, if-match, if-none-match, prefer, x-request-id",
    "Access-Control-Expose-Headers": exposedHeaders,
    "Access-Control-Max-Age": "86400",
    "X-Content-Type-Options": "nosniff"
  }
});

// src/http/handlers/gather.ts
init_errors();
init_limits();
init_record_key();

// src/http/conditions.ts
init_errors();
var refuse6 = (header, message, hint) => {
  throw new CubbyError2("invalid_request", `${header} ${message}`, { field: header, hint });
};
var refuseConditions = (headers) => {
  for (const header of ["If-Match", "If-None-Match"]) {
    if (headers.has(header))
      refuse6(header, "is not allowed on this request.", "Conditions are allowed on GET, PUT and DELETE of a record.");
  }
};
var versionTag = /^"(0|[1-9][0-9]{0,15})"$/;
var strongTag = /^"[\x21\x23-\x7e\x80-\xff]*"$/;
var noVersion = -1;
var parseIfMatch = (value) => {
  if (value === "*")
    return "exists";
  const version = versionTag.exec(value);
  if (version !== null)
    return { version: Number(version[1]) };
  if (strongTag.test(value))
    return { version: noVersion };
  return refuse6("If-Match", "is not one strong entity tag.", 'Send the ETag of a record unchanged, quotes included, for example "1767225600000"; or *.');
};
var parseWriteCondition = (headers, method) => {
  const ifMatch = headers.get("if-match");
  const ifNoneMatch = headers.get("if-none-match");
  if (ifNoneMatch === null)
    return ifMatch === null ? undefined : parseIfMatch(ifMatch);
  if (method === "DELETE")
    return refuse6("If-None-Match", "is not allowed on DELETE.", "Use If-Match.");
  if (ifMatch !== null)
    return refuse6("If-None-Match", "cannot be combined with If-Match.", "Send one condition.");
  if (ifNoneMatch !== "*") {
    return refuse6("If-None-Match", "takes only * on PUT.", "Send If-None-Match: * to create, If-Match to replace.");
  }
  return "absent";
};
var matchesIfNoneMatch = (headers, version) => {
  const value = headers.get("if-none-match");
  if (value === null)
    return false;
  if (value.trim() === "*")
    return true;
  const tags = value.match(/"[^"]*"/g) ?? [];
  return tags.includes(`"${version}"`);
};
var refuseIfMatchOnRead = (headers) => {
  if (headers.has("if-match"))
    refuse6("If-Match", "is not allowed on GET.", "Use If-None-Match to revalidate a copy.");
};
var wantsMinimal = (headers) => {
  const value = headers.get("prefer");
  return value !== null && /(?:^|[,;])\s*return\s*=\s*"?minimal"?\s*(?:$|[,;])/i.test(value);
};

// src/http/query-parameters.ts
init_errors();
init_limits();
var parseParameters = (url, known) => {
  const start = url.indexOf("?");
  const values = {};
  if (start < 0)
    return values;
  for (const [name, value] of new URLSearchParams(url.slice(start + 1))) {
    const field = name.slice(0, 80);
    if (!known.includes(name)) {
      throw new CubbyError2("invalid_request", `${field} is not a query parameter of this request.`, {
        field,
        hint: known.length === 0 ? "It takes none." : `Known parameters: ${known.join(", ")}.`
      });
    }
    if (values[name] !== undefined) {
      throw new CubbyError2("invalid_request", `${field} appears twice.`, { field, hint: "Send it once." });
    }
    values[name] = value;
  }
  return values;
};
var parseLimitParameter = (value) => parseLimit(value === undefined ? undefined : /^[0-9]+$/.test(value) ? Number(value) : value, pageRowsDefault, pageRowsMax);
var flagValues = { true: true, false: false };
var parseFlagParameter = (value, name) => parseFlag(value === undefined ? undefined : flagValues[value] ?? value, name);

// src/http/handlers/gather.ts
var addressOf = ({ params }) => parseAddress(params.db, params.table);
var refuseBadEscapes = (url, segment, field) => {
  if (!segment.includes("\uFFFD"))
    return;
  try {
    decodeURIComponent(url.split("?", 1)[0]);
  } catch {
    throw new CubbyError2("invalid_key", `${field} has a percent-escape that is malformed or not UTF-8.`, {
      field,
      hint: "Percent-encode the UTF-8 bytes of the key once, as encodeURIComponent does."
    });
  }
};
var keyOf = ({ params, request }, name) => {
  refuseBadEscapes(request.url, params[name], name);
  return parseKeyPart(params[name], name);
};
var readMembers = async (exchange, optional = false) => {
  const text = await exchange.readBody(plainBodyBytesMax);
  return text === "" && optional ? {} : parsePlainBody(text);
};
var refuseExtras = ({ request }) => {
  parseParameters(request.url, []);
  refuseConditions(request.headers);
};
var readListing = ({ request }) => {
  const { limit, cursor } = parseParameters(request.url, ["limit", "cursor"]);
  refuseConditions(request.headers);
  return { limit: parseLimitParameter(limit), cursor };
};

// src/http/handlers/api-keys.ts
var apiKeyHandlers = {
  async createApiKey(exchange) {
    const members = await readMembers(exchange);
    refuseExtras(exchange);
    const { access, nowMs } = exchange;
    const made = await createApiKey(access, parseCreateApiKey(members, nowMs), nowMs);
    return respondText(exchange.requestId, createApiKeyOperation.present(made, nowMs), 201);
  },
  async listApiKeys(exchange) {
    const page = await listApiKeys(exchange.access, readListing(exchange));
    return respondLongText(exchange, listApiKeysOperation.present(page, exchange.nowMs));
  },
  async describeOwnApiKey(exchange) {
    refuseExtras(exchange);
    const own = await describeOwnApiKey(exchange.access);
    return respondText(exchange.requestId, describeOwnApiKeyOperation.present(own, exchange.nowMs));
  },
  async revokeApiKey(exchange) {
    const id = keyOf(exchange, "id");
    refuseBody(exchange.request.headers);
    refuseExtras(exchange);
    const { access, nowMs } = exchange;
    return respondText(exchange.requestId, revokeApiKeyOperation.present(await revokeApiKey(access, { id }, nowMs), nowMs));
  }
};

// src/http/handlers/records.ts
init_limits();
init_names();
init_record_key();
var recordOf = (exchange) => {
  const { params } = exchange;
  return {
    db: parseName(params.db, "db"),
    table: parseName(params.table, "table"),
    hashKey: keyOf(exchange, "hashKey"),
    rangeKey: params.rangeKey === undefined ? noRangeKey : keyOf(exchange, "rangeKey")
  };
};
var recordHandlers = {
  async putRecord(exchange) {
    const db = parseName(exchange.params.db, "db");
    const table = parseName(exchange.params.table, "table");
    const { headers, url } = exchange.request;
    const record = parsePut(await exchange.readBody(bodyBytesMax), exchange.nowMs);
    parseParameters(url, []);
    const condition = parseWriteCondition(headers, "PUT");
    const { hashKey, rangeKey, data, ttlSeconds, built } = record;
    const input = { db, table, hashKey, rangeKey, data, ttlSeconds, built, condition };
    const stored = await putRecord(exchange.access, input, exchange.nowMs);
    return wantsMinimal(headers) ? respondMinimal(exchange.requestId, stored) : respondRecord(exchange, stored);
  },
  getRecord(exchange) {
    const input = recordOf(exchange);
    const { headers, url } = exchange.request;
    parseParameters(url, []);
    refuseIfMatchOnRead(headers);
    return andThen(findRecord(exchange.access, input, exchange.nowMs), (record) => {
      if (record === undefined)
        throw recordNotFound(input);
      return matchesIfNoneMatch(headers, record.updatedAtMs) ? respondNotModified(exchange.requestId, record.updatedAtMs) : respondRecord(exchange, record);
    });
  },
  async deleteRecord(exchange) {
    const { db, table, hashKey, rangeKey } = recordOf(exchange);
    const { headers, url } = exchange.request;
    refuseBody(headers);
    parseParameters(url, []);
    const condition = parseWriteCondition(headers, "DELETE");
    const input = { db, table, hashKey, rangeKey, condition };
    const deleted = await deleteRecord(exchange.access, input, exchange.nowMs);
    return respondText(exchange.requestId, JSON.stringify({ deleted }));
  },
  async queryRecords(exchange) {
    const db = parseName(exchange.params.db, "db");
    const table = parseName(exchange.params.table, "table");
    const members = await readMembers(exchange);
    refuseExtras(exchange);
    const input = { db, table, query: parseQuery(members) };
    return respondLongText(exchange, queryPageJson(await queryRecords(exchange.access, input, exchange.nowMs)));
  },
  async findRecords(exchange) {
    const { db, table } = addressOf(exchange);
    const text = await exchange.readBody(bodyBytesMax);
    const keys = await exchange.runSteps(parseFindInSteps(text));
    refuseExtras(exchange);
    const found = await findRecords(exchange.access, { db, table, keys }, exchange.nowMs);
    return respondLongText(exchange, presentFound(found));
  },
  async applyBatch(exchange) {
    const { db, table } = addressOf(exchange);
    const text = await exchange.readBody(batchBodyBytesMax);
    const operations = await exchange.runSteps(parseBatchInSteps(text, exchange.nowMs));
    refuseExtras(exchange);
    const { access, nowMs } = exchange;
    const count = await applyBatch(access, { db, table, operations }, nowMs, (steps) => exchange.runSteps(steps));
    return respondText(exchange.requestId, JSON.stringify({ count }));
  }
};

// src/http/handlers/tables.ts
init_names();
var tableHandlers = {
  async listDatabases(exchange) {
    const page = await listDatabases(exchange.access, readListing(exchange));
    return respondLongText(exchange, listDatabasesOperation.present(page, exchange.nowMs));
  },
  async listTables(exchange) {
    const db = parseName(exchange.params.db, "db");
    const { limit, cursor, deleted } = parseParameters(exchange.request.url, ["limit", "cursor", "deleted"]);
    refuseConditions(exchange.request.headers);
    const input = { db, deleted: parseFlagParameter(deleted, "deleted"), limit: parseLimitParameter(limit), cursor };
    const page = await listTables(exchange.access, input, exchange.nowMs);
    return respondLongText(exchange, listTablesOperation.present(page, exchange.nowMs));
  },
  async describeTable(exchange) {
    const address = addressOf(exchange);
    refuseExtras(exchange);
    return respondText(exchange.requestId, tableJson(await describeTable(exchange.access, address, exchange.nowMs)));
  },
  async createTable(exchange) {
    const address = addressOf(exchange);
    const indices = parseCreateTable(await readMembers(exchange, true));
    refuseExtras(exchange);
    const result = await createTable(exchange.access, { ...address, indices }, exchange.nowMs);
    const text = createTableOperation.present(result, exchange.nowMs);
    return respondText(exchange.requestId, text, result.created ? 201 : 200);
  },
  async deleteTable(exchange) {
    const address = addressOf(exchange);
    refuseBody(exchange.request.headers);
    refuseExtras(exchange);
    return respondText(exchange.requestId, tableJson(await deleteTable(exchange.access, address, exchange.nowMs)));
  },
  async restoreTable(exchange) {
    const address = addressOf(exchange);
    const deletedAtMs = parseRestoreTable(await readMembers(exchange, true));
    refuseExtras(exchange);
    const table = await restoreTable(exchange.access, { ...address, deletedAtMs }, exchange.nowMs);
    return respondText(exchange.requestId, tableJson(table));
  }
};

// src/http/routes.ts
var handlers = { ...tableHandlers, ...recordHandlers, ...apiKeyHandlers };
var pathTable = () => {
  const table = {};
  for (const operationId of Object.keys(operationRoutes)) {
    const { operation, method, paths, ...more } = operationRoutes[operationId];
    const { keyNeeded } = operation;
    const route = {
      operationId,
      keyNeeded,
      body: "body" in more ? "text" : undefined,
      handler: handlers[operationId]
    };
    for (const path of paths) {
      table[path] ??= {};
      table[path][method] = route;
    }
  }
  return table;
};
var routes = pathTable();
var servedRoutes = {
  ...routes,
  "/api/keys/self": { ...routes["/api/keys/:id"], ...routes["/api/keys/self"] }
};
var openRoutes = {
  "/": "getEntryPoint",
  "/healthz": "checkHealth",
  "/readyz": "checkReadiness",
  "/openapi.json": "getDescription",
  "/docs": "getDocsPage"
};
var allowedMethods = (methods) => {
  const names = Object.keys(methods);
  if (names.includes("GET"))
    names.push("HEAD");
  return [...names, "OPTIONS"].sort().join(", ");
};

// src/operations/example.ts
var tableCreatedAt = 1767225600000;
var firstOrderAt = 1767607200000;
var secondOrderAt = 1767693600000;
var draftAt = 1767697200000;
var laterAt = 1767780000000;
var tableDeletedAt = 1767312000000;
var indices = { i1: { hashField: "status", rangeField: "placedAt" } };
var inOrders = { db: "app", table: "orders" };
var orders = { ...inOrders, indices, status: "active", createdAt: tableCreatedAt };
var deletedOrders = {
  ...orders,
  status: "deleted",
  deletedAt: tableDeletedAt,
  recoverableUntil: tableDeletedAt + 7 * 24 * 60 * 60 * 1000
};
var firstOrder = {
  hashKey: "ada",
  rangeKey: "o-1",
  data: { status: "open", total: 40, placedAt: "2026-01-05T10:00:00Z" }
};
var secondOrder = {
  hashKey: "ada",
  rangeKey: "o-2",
  data: { status: "open", total: 25, placedAt: "2026-01-06T10:00:00Z" }
};
var draft = { hashKey: "draft", data: { total: 0 }, ttl: 4102444800 };
var putInOrders = (record, updatedAt) => ({
  operation: "putRecord",
  input: { ...inOrders, ...record },
  output: { ...record, updatedAt }
});
var deleteOrders = { operation: "deleteTable", input: inOrders, output: deletedOrders };
var exampleStore = [
  { operation: "createTable", input: { ...inOrders, indices }, output: orders },
  putInOrders(firstOrder, firstOrderAt),
  putInOrders(secondOrder, secondOrderAt),
  putInOrders(draft, draftAt)
];

// src/openapi/errors.ts
init_limits();
var meanings = {
  invalid_json: "The body is not JSON in UTF-8.",
  invalid_request: "A field, query parameter, header or body is unknown, sent twice, missing or of the wrong type.",
  invalid_name: "The name of a database or table does not match `[a-z0-9_-]{1,64}`.",
  reserved_name: "The name of a database or table starts with `_`.",
  invalid_key: "A record key or id is missing, empty, too long or malformed, or it is exactly `.` or `..`.",
  invalid_index: "The declaration of an index is malformed.",
  invalid_index_value: "An indexed field, or the hash of a query, is not a string, number or boolean that can be indexed.",
  index_not_declared: "The table declares no such index.",
  invalid_range: "The range is not one operator with a valid operand, or the index has no range field.",
  invalid_cursor: "The cursor cannot be read or belongs to another request.",
  invalid_ttl: "`ttl` is not an integer of epoch seconds, or is more than a day in the past.",
  batch_too_large: `The batch has more than ${batchOperationsMax} operations, or the find more than ${findKeysMax} keys.`,
  batch_duplicate_keys: "Two operations of a batch, or two keys of a find, name the same record.",
  missing_api_key: "There is no `Authorization` header.",
  invalid_api_key: "The API key is unknown or malformed.",
  expired_api_key: "The API key has expired.",
  revoked_api_key: "The API key has been revoked.",
  read_only_key: "A public key only reads records and tables.",
  key_scope: "The API key is limited to other databases, or it is limited and the request manages keys.",
  secret_key_in_browser: "A web page from another origin sent a secret key.",
  route_not_found: "No route has this path: a segment is empty, or there is a trailing slash.",
  table_not_found: "There is no such table. The hint shows the call that creates or restores it.",
  record_not_found: "There is no such record, or it has expired.",
  key_not_found: "The organization has no API key with that id.",
  method_not_allowed: "The path exists, but does not support this method.",
  table_exists: "A table with that name exists: it has other indices, or a restore needs its name.",
  precondition_failed: "The condition does not hold; nothing was changed.",
  record_too_large: `\`data\` has more than ${dataBytesMax.toLocaleString("en-US")} bytes of JSON.`,
  body_too_large: "The body is larger than this request allows.",
  unsupported_media_type: "The body is not declared as JSON, or it is compressed.",
  internal: "The server failed; the request is not the cause.",
  store_damaged: "Part of the store on the disk is damaged, and this request needs it. Nothing was applied; the operator restores a backup.",
  outcome_unknown: "The write may or may not have been applied: read before repeating it.",
  unavailable: "The server cannot accept this request now. Nothing was applied: repeat it after `Retry-After`.",
  storage_full: "The store has no free space. Nothing was applied."
};
var accessCodes = (keyNeeded, namesDatabase) => [
  "missing_api_key",
  "invalid_api_key",
  "expired_api_key",
  "revoked_api_key",
  ...keyNeeded === "read" ? [] : ["read_only_key"],
  ...namesDatabase || keyNeeded === "manage-keys" ? ["key_scope"] : [],
  "secret_key_in_browser"
];
var bodyCodes = ["invalid_json", "body_too_large", "unsupported_media_type"];
var errorBody = (code, { message, field, hint }) => ({
  error: { code, message, ...field && { field }, ...hint && { hint }, requestId: "HJ4c9fQ2-1z" }
});
var sharedErrors = {
  invalid_json: {
    message: "The body is not valid JSON: Expected '}'.",
    hint: "Send one JSON value in UTF-8."
  },
  invalid_request: {
    message: "pretty is not a query parameter of this request.",
    field: "pretty",
    hint: "It takes none."
  },
  invalid_name: {
    message: 'db is "Shop"; a name matches [a-z0-9_-]{1,64}.',
    field: "db",
    hint: 'Use 1 to 64 lower-case letters, digits, "_" or "-".'
  },
  reserved_name: {
    message: 'db is "_shop"; names that start with "_" are reserved.',
    field: "db",
    hint: 'Drop the leading "_": "shop".'
  },
  invalid_key: {
    message: "hashKey has a percent-escape that is malformed or not UTF-8.",
    field: "hashKey",
    hint: "Percent-encode the UTF-8 bytes of the key once, as encodeURIComponent does."
  },
  invalid_cursor: {
    message: "cursor cannot be read.",
    field: "cursor",
    hint: "Send the cursor of the previous answer with an otherwise identical request, or leave it out for the first page."
  },
  missing_api_key: {
    message: "The request carries no API key.",
    hint: 'Send the header "Authorization: Bearer <API key>". The API is documented at /docs.'
  },
  invalid_api_key: {
    message: "The API key is malformed.",
    hint: 'Send "Authorization: Bearer svc_live_\u2026" or "svc_pub_\u2026". The API is documented at /docs.'
  },
  expired_api_key: {
    message: "The API key expired at 2026-01-05T10:00:00.000Z.",
    hint: "Create another key: POST /api/keys. The API is documented at /docs."
  },
  revoked_api_key: {
    message: "The API key has been revoked.",
    hint: "Use another key; revocation is permanent."
  },
  read_only_key: {
    message: "A public key reads records and tables; this request needs a secret key.",
    hint: "Send it from your server with a secret key (svc_live_\u2026)."
  },
  key_scope: {
    message: "The API key is limited to other databases.",
    hint: "It may use: blog."
  },
  secret_key_in_browser: {
    message: "A secret key was sent by a web page of another origin.",
    hint: "Use a public key (svc_pub_\u2026) in browsers, revoke this one, and keep secret keys on your server."
  },
  route_not_found: {
    message: "No route has this path.",
    hint: "Without the slash at its end: /v1/app. The API is documented at /docs."
  },
  table_not_found: {
    message: "There is no table invoices in database app.",
    hint: "Create it: POST /v1/app/invoices"
  },
  method_not_allowed: {
    message: "PATCH is not a method of this path.",
    hint: "A record is always written as a whole; records are written by PUT /v1/app/orders with hashKey in the body. This path takes DELETE, GET, HEAD, OPTIONS."
  },
  body_too_large: {
    message: `The body is larger than ${bodyBytesMax} bytes.`,
    hint: "Send less at once: several records in several requests."
  },
  record_too_large: {
    message: `data has ${dataBytesMax + 1} bytes of JSON; it takes at most ${dataBytesMax}.`,
    field: "data",
    hint: "Split the record over several range keys."
  },
  batch_too_large: {
    message: `operations has ${batchOperationsMax + 1} operations; a batch takes at most ${batchOperationsMax}.`,
    field: "operations",
    hint: `Send them in batches of ${batchOperationsMax}; each is atomic by itself.`
  },
  unsupported_media_type: {
    message: "The body is not declared as application/json.",
    hint: 'Send "Content-Type: application/json".'
  },
  internal: {
    message: "The server failed to answer this request.",
    hint: "This is a fault of the server; its log has the cause under this requestId."
  },
  store_damaged: {
    message: "The store is damaged where this request reads or writes; nothing was applied.",
    hint: "The operator has to restore a backup; other records can still be read and written."
  },
  outcome_unknown: {
    message: "The commit failed; the write may or may not have been applied.",
    hint: "Read the record before repeating the request."
  },
  unavailable: {
    message: "Too many requests with this API key are in flight; nothing was applied.",
    hint: "Repeat the request after the time in Retry-After."
  },
  storage_full: {
    message: "The disk is full; nothing was applied.",
    hint: "Reads still work. Repeat the request once there is room."
  }
};

// src/openapi/examples/http-example.ts
init_errors();

// src/http/almost-right.ts
init_errors();
init_names();
var namesIn = ({ db, table }) => ({
  ...isName(db) && { db },
  ...isName(table) && { table }
});
var to = (operation, names) => httpHint([{ operation, input: {} }], names);
var written2 = (names) => `records are written by ${to("putRecord", names)} with hashKey in the body`;
var writtenByPut = (names) => `this request creates a table; ${written2(names)}`;
var writtenElsewhere = (names) => `a record is read and deleted here; ${written2(names)}`;
var found = (names) => `records are found by ${to("queryRecords", names)}`;
var foundByKeys = (names) => `many records are read by ${to("findRecords", names)} with keys in the body`;
var recordsDeleted = (names) => `records are deleted by ${to("deleteRecord", names)}`;
var batched = (names) => `many records are written by ${to("applyBatch", names)} with operations in the body`;
var restored = (names) => `a deleted table is restored by ${to("restoreTable", names)}`;
var tableCreated = (names) => `a database exists as soon as it has a table; tables are created by ${to("createTable", names)}`;
var tablesDeleted = (names) => `tables are deleted by ${to("deleteTable", names)}; a database is gone with its last table`;
var replaced = (names) => `a record is always written as a whole; ${written2(names)}`;
var record = "/v1/:db/:table/:hashKey";
var searches = ["search", "list", "scan", "filter", "select", "all", "records", "items"];
var batches = ["bulk", "import", "transaction", "many"];
var wrongMethods = [
  { methods: "POST", path: record, words: searches, say: found },
  { methods: "POST", path: record, words: batches, say: batched },
  { methods: "POST", path: record, words: ["undelete", "recover"], say: restored },
  { methods: "POST", path: record, words: ["delete", "remove"], say: recordsDeleted },
  { methods: "PUT POST", path: record, say: writtenElsewhere },
  {
    methods: "PUT POST",
    path: `${record}/:rangeKey`,
    say: (names) => `${writtenElsewhere(names)}, and rangeKey beside it`
  },
  { methods: "PATCH", path: "/v1/:db/:table", say: replaced },
  { methods: "PATCH", path: record, say: replaced },
  { methods: "PATCH", path: `${record}/:rangeKey`, say: replaced },
  { methods: "PUT PATCH", path: "/v1/:db/:table/query", say: found },
  { methods: "PUT PATCH", path: "/v1/:db/:table/find", say: foundByKeys },
  { methods: "PUT PATCH", path: "/v1/:db/:table/batch", say: batched },
  { methods: "PUT PATCH", path: "/v1/:db/:table/restore", say: restored },
  { methods: "POST PUT", path: "/v1", say: tableCreated },
  { methods: "POST PUT", path: "/v1/:db", say: tableCreated },
  { methods: "DELETE", path: "/v1/:db", say: tablesDeleted },
  { methods: "PUT", path: "/api/keys", say: () => `keys are created by ${to("createApiKey", {})}` },
  { methods: "DELETE", path: "/api/keys", say: () => `keys are revoked by ${to("revokeApiKey", {})}` },
  {
    methods: "GET",
    path: "/api/keys/:id",
    say: () => `keys are listed by ${to("listApiKeys", {})}; the calling key is ${to("describeOwnApiKey", {})}`
  },
  {
    methods: "POST PUT PATCH",
    path: "/api/keys/:id",
    say: () => `a key cannot be changed; keys are created by ${to("createApiKey", {})}`
  }
];
var sentence = (text) => `${text[0].toUpperCase()}${text.slice(1)}.`;
var wrongMethodHint = (method, path, params, allow) => {
  const row = wrongMethods.find(({ methods, path: of, words }) => of === path && methods.split(" ").includes(method) && (words?.includes(params.hashKey) ?? true));
  return row === undefined ? `It takes ${allow}.` : `${sentence(row.say(namesIn(params)))} This path takes ${allow}.`;
};
var listingFields = ["offset", "page", "filter", "where", "q", "query", "sort", "order", "prefix"];
var recordFields = ["hashKey", "rangeKey", "data", "ttl"];
var wrongInput = (operation, fields, say) => ({
  operation,
  code: "invalid_request",
  fields,
  say
});
var wrongInputs = [
  wrongInput("createTable", recordFields, writtenByPut),
  { operation: "createTable", code: "body_too_large", say: writtenByPut },
  wrongInput("describeTable", [...queryFields, ...listingFields], found),
  wrongInput("describeTable", ["hashKey", "rangeKey", "key", "id"], (names) => `a record is read by ${to("getRecord", names)}`),
  wrongInput("deleteTable", [undefined, ...recordFields], (names) => `this path is the table; ${recordsDeleted(names)}`),
  wrongInput("getRecord", queryFields, found),
  wrongInput("getRecord", ["rangeKey"], () => "the range key is a segment of the path, after the hash key"),
  wrongInput("queryRecords", ["hashKey"], () => 'in a query it is "hash"'),
  wrongInput("queryRecords", ["rangeKey"], () => 'in a query it is "range", for example { "eq": "\u2026" }'),
  { operation: "queryRecords", code: "invalid_key", fields: ["hash"], missing: true, beside: true, say: found },
  { operation: "getRecord", code: "record_not_found", words: ["query", ...searches], beside: true, say: found }
];
var withBetterHint = (operation, params, error) => {
  const row = wrongInputs.find((one) => one.operation === operation && one.code === error.code && (one.fields?.includes(error.field) ?? true) && (one.missing !== true || error.message.startsWith(`${error.field} is missing`)) && (one.words?.includes(params.hashKey) ?? true));
  if (row === undefined)
    return error;
  const names = namesIn(params);
  const own = row.beside === true && error.hint !== undefined ? `${httpHint(error.hint, names)} ` : "";
  return new CubbyError2(error.code, error.message, { field: error.field, hint: own + sentence(row.say(names)) });
};
var plain = "(?:/(?!\\.\\.?(?:/|$))[A-Za-z0-9_.~-]+)";
var namesAt = (path) => {
  const [, , db, table] = path.split("/");
  return namesIn({ db, table });
};
var descriptions = "GET /openapi.json is for programs, GET /docs for people";
var lostPaths = [
  {
    methods: "DELETE",
    path: /^(\/v1\/.*\/)$/,
    say: (part) => `the last key is empty; ${recordsDeleted(namesAt(part))}`
  },
  {
    methods: "GET HEAD POST PUT PATCH",
    path: new RegExp(`^(${plain}+)/+$`),
    say: (part) => `without the slash at its end: ${part}`
  },
  { path: new RegExp(`^/api(/v1${plain}*)$`), say: (part) => `tables and records are below /v1: ${part}` },
  { path: /^(\/keys(?:\/[A-Za-z0-9_]+)?)$/, say: (part) => `keys are below /api: /api${part}` },
  { path: /^\/(?:api\/)?(?:docs|openapi|swagger|redoc|api-docs)(?:\.(?:json|ya?ml))?$/, say: () => descriptions },
  {
    path: /^\/(?:health|healthcheck|livez|ping|status|ready)$/,
    say: () => "GET /healthz says whether the process is alive, GET /readyz whether it can serve"
  },
  { path: new RegExp(`^/v[02-9]\\d*(${plain}*)$`), say: (part) => `the version is v1: /v1${part}` },
  {
    path: new RegExp(`^((?!/(?:v\\d+|api|keys|docs|healthz|readyz)/)(?:/[a-z0-9-][a-z0-9_-]{0,63}){2}${plain}{0,2})$`),
    say: (part) => `tables and records are below /v1: /v1${part}`
  },
  {
    path: /^\/v1(?:\/[^/]+){5,}$/,
    say: () => "a path has at most two keys: /v1/:db/:table/:hashKey/:rangeKey; a / inside a key is written as %2F"
  }
];
var generalHint = "Records: /v1/:db/:table/:hashKey[/:rangeKey]; tables: /v1/:db/:table; keys: /api/keys. No trailing slash.";
var lostPathHint = (method, path) => {
  for (const { methods, path: form, say } of lostPaths) {
    if (methods !== undefined && !methods.split(" ").includes(method))
      continue;
    const match = form.exec(path);
    if (match !== null)
      return sentence(say(match[1] ?? ""));
  }
  return generalHint;
};
var keyHeaders = ["X-Api-Key", "Api-Key", "ApiKey", "X-Auth-Token", "X-Access-Token"];
var keyParameter = /[?&](api[_-]?key|key|access_token|token)=/i;
var missingKeyHint = ({ headers, url }) => {
  const send = 'Send the header "Authorization: Bearer <API key>"';
  const header = keyHeaders.find((name) => headers.has(name));
  if (header !== undefined)
    return `${send}; ${header} is not read.`;
  const parameter = keyParameter.exec(url)?.[1];
  return parameter === undefined ? `${send}.` : `${send}; the parameter ${parameter} is not read, and a URL ends up in logs.`;
};
var wrongSchemeHint = (header) => {
  if (/^bearer$/i.test(header))
    return 'There is no key after "Bearer": is the variable that holds it empty?';
  if (/^svc_(?:live|pub)_\S+$/.test(header))
    return 'Write "Bearer " before the key: "Authorization: Bearer svc_live_\u2026".';
  return;
};

// src/openapi/examples/http-example.ts
var conditionHeader = (value) => {
  if (value === null)
    return { "If-None-Match": "*" };
  return { "If-Match": value === "*" ? "*" : `"${value}"` };
};
var divide = ({ paths, query = [] }, input) => {
  const inPathOrQuery = new Set([...paths.flatMap(pathParameters), ...query]);
  const parameters = {};
  const body = {};
  for (const [name, value] of Object.entries(input)) {
    if (name === "ifUpdatedAt")
      Object.assign(parameters, conditionHeader(value));
    else if (inPathOrQuery.has(name))
      parameters[name] = value;
    else
      body[name] = value;
  }
  return { parameters, body: Object.keys(body).length === 0 ? undefined : body };
};
var givenStep = ({ operation, input, output }) => {
  const route = findRoute(operation);
  const { body } = divide(route, input);
  return {
    method: route.method,
    path: targetFor(route, input),
    ...body && { body },
    ...output === undefined ? {} : { answer: output }
  };
};
var withoutDefaults = ({ db, table, ...given }) => ({
  ...db === undefined || db === "app" ? {} : { db },
  ...table === undefined || table === "orders" ? {} : { table },
  ...given
});
var hintOver = ({ operation }, input, { code, message, ...more }) => {
  const params = input;
  const { hint } = withBetterHint(operation.id, params, new CubbyError2(code, message, more));
  return httpHint(hint, namesIn(params));
};
var toHttpExample = (route, { name, summary, given, input, output, error, unchanged }, status, tagged) => {
  const { parameters, body } = divide(route, input);
  const own = withoutDefaults(parameters);
  const version = output?.updatedAt;
  return {
    name,
    summary,
    ...given && { given: given.map(givenStep) },
    ...Object.keys(own).length > 0 && { parameters: own },
    ...body && { body },
    ...error === undefined ? {
      status: unchanged ? status.unchanged : status.done,
      ...tagged && { headers: { ETag: `"${version}"` } },
      answer: output
    } : {
      status: statusOf[error.code],
      answer: errorBody(error.code, { ...error, hint: hintOver(route, input, error) })
    }
  };
};

// src/openapi/introduction.ts
init_limits();
var binaryBytes = (bytes) => bytes < 1048576 ? `${bytes / 1024} KiB` : `${bytes / 1048576} MiB`;
var introduction = `Cubby stores JSON records in tables. A table belongs to a database, and a database belongs to the organization of the API key.

## Requests

Bodies are JSON in UTF-8, at most ${binaryBytes(plainBodyBytesMax)} (a put or a find: ${binaryBytes(bodyBytesMax)}, a batch: ${binaryBytes(batchBodyBytesMax)}). A body without a content type is read as JSON. Nothing is ignored: an unknown field or query parameter is rejected by name, and so is a condition on a request that does not support it.

Paths are matched exactly: an empty segment or a trailing slash is 404. Percent-encode each key in a path once. Some proxies decode \`%2F\`; if yours may do so, use \`find\` to read records whose keys contain \`/\`, and a batch to delete them.

\`ttl\` is in epoch seconds. Everything named \`\u2026At\`, and \`recoverableUntil\`, is in epoch milliseconds.

## API keys

Send \`Authorization: Bearer <API key>\`. A secret key (\`svc_live_\u2026\`) reads and writes and belongs on your server. A public key (\`svc_pub_\u2026\`) reads records and tables and may be used in a web page. The key selects the organization. Data of another organization looks exactly like data that does not exist.

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

## Browsers

Pages from every origin may read every answer, including errors. A secret key sent by a page from another origin is rejected with 403 \`secret_key_in_browser\`.

## Examples

Each example starts with a database \`app\` that has a table \`orders\`. The table declares the index \`i1\` by \`status\` and \`placedAt\`. It holds the orders \`o-1\` and \`o-2\` of \`ada\` and a record \`draft\`. Parameters, body and answer with the same example name belong together.
`;

// src/operations/catalogue-entry.ts
var entry = (operation, described) => ({ ...operation, ...described });

// src/operations/schema.ts
init_limits();
var objectOf = (description, required, properties) => ({
  type: "object",
  description,
  properties,
  ...required.length === 0 ? {} : { required }
});
var closed = (schema) => ({ ...schema, additionalProperties: false });
var ref = (name) => ({ $ref: `#/$defs/${name}` });
var nullable = (type, more) => ({ ...more, type: [type, "null"] });
var freeObject = (description) => ({ type: "object", description, additionalProperties: true });
var exactIntegers = {
  format: "int64",
  minimum: Number.MIN_SAFE_INTEGER,
  maximum: Number.MAX_SAFE_INTEGER
};
var times = { ...exactIntegers, minimum: 0 };
var milliseconds = (description) => ({
  type: "integer",
  ...times,
  description: `${description} Epoch milliseconds.`
});
var number = (value) => value.toLocaleString("en-US");
var cursorText = { pattern: "^[A-Za-z0-9_-]+$", maxLength: cursorCharactersMax };
var nextCursor = nullable("string", {
  description: "Opaque. Send it back to get the next page. Null on the last page."
});
var inputOf = (request, beside, required = []) => {
  if (request.oneOf !== undefined) {
    const { oneOf, ...rest } = request;
    return { type: "object", ...rest, oneOf: oneOf.map((form) => inputOf(form, beside, required)) };
  }
  const all = [...required, ...request.required ?? []];
  return {
    type: "object",
    ...request.description === undefined ? {} : { description: request.description },
    properties: { ...beside, ...request.properties },
    ...all.length === 0 ? {} : { required: all },
    additionalProperties: false
  };
};

// src/operations/tables/schemas.ts
init_limits();
init_indices();
var indexField = (description) => ({
  type: "string",
  minLength: 1,
  maxLength: indexFieldCharactersMax,
  description
});
var tableFields = {
  db: ref("Name"),
  table: ref("Name"),
  indices: ref("Indices"),
  createdAt: milliseconds("When the table was created.")
};
var tableSchemas = {
  Name: {
    type: "string",
    pattern: "^[a-z0-9-][a-z0-9_-]{0,63}$",
    minLength: 1,
    maxLength: 64,
    description: "A name matches `[a-z0-9_-]{1,64}`; names that start with `_` are reserved."
  },
  IndexDeclaration: closed(objectOf("An index over top-level fields of `data`.", ["hashField"], {
    hashField: indexField("The field that a query compares with `hash`."),
    rangeField: indexField("The field that orders the records with the same hash.")
  })),
  Indices: {
    type: "object",
    description: "The declared indices by slot; `{}` if there are none. They cannot be changed later.",
    properties: Object.fromEntries(slots.map((slot) => [slot, ref("IndexDeclaration")])),
    additionalProperties: false
  },
  CreateTableRequest: closed(objectOf("The properties of the new table.", [], { indices: ref("Indices") })),
  RestoreTableRequest: closed(objectOf("Which table to restore, if several with the same name were deleted.", [], {
    deletedAt: {
      ...milliseconds("The `deletedAt` of the table; absent: the table deleted last."),
      ...exactIntegers
    }
  })),
  ActiveTable: objectOf("A table.", ["db", "table", "indices", "status", "createdAt"], {
    ...tableFields,
    status: { type: "string", const: "active" }
  }),
  DeletedTable: objectOf("A deleted table that can be restored.", ["db", "table", "indices", "status", "createdAt", "deletedAt", "recoverableUntil"], {
    ...tableFields,
    status: { type: "string", const: "deleted" },
    deletedAt: milliseconds("When it was deleted."),
    recoverableUntil: milliseconds(`It can be restored until this time, ${recoveryMs / 86400000} days after \`deletedAt\`.`)
  }),
  TableList: objectOf("Tables by name.", ["tables", "cursor"], {
    tables: { type: "array", items: { oneOf: [ref("ActiveTable"), ref("DeletedTable")] } },
    cursor: nextCursor
  }),
  DatabaseList: objectOf("Databases by name.", ["databases", "cursor"], {
    databases: { type: "array", items: ref("Name") },
    cursor: nextCursor
  })
};
var dbMember = {
  db: {
    ...ref("Name"),
    description: "The database, for example one per application. A database exists while it has a table."
  }
};
var addressMembers = {
  ...dbMember,
  table: { ...ref("Name"), description: "The table, for example one per kind of record." }
};
var addressRequired = ["db", "table"];
var listingMembers = {
  limit: {
    type: "integer",
    minimum: 1,
    default: pageRowsDefault,
    description: `The maximum number of entries in a page. A value above ${number(pageRowsMax)} counts as ${number(pageRowsMax)}.`
  },
  cursor: {
    type: "string",
    ...cursorText,
    description: "The `cursor` of the previous page."
  }
};

// src/operations/api-keys/examples.ts
init_hint();
var createdAt = 1767398400000;
var id = "key_4fJ2mQ9sT7bXc1LwZr8a";
var key = "svc_pub_EXAMPLEEXAMPLEEXAMPLEEXAMPLE000000wxyz";
var masked2 = "svc_pub_****wxyz";
var web = { kind: "public", name: "web shop", databases: ["app"], expiresAt: 4102444800000 };
var createdWeb = {
  id,
  kind: "public",
  name: "web shop",
  key,
  masked: masked2,
  databases: ["app"],
  createdAt,
  expiresAt: 4102444800000
};
var listedWeb = {
  id,
  kind: "public",
  name: "web shop",
  masked: masked2,
  databases: ["app"],
  status: "active",
  createdAt,
  lastUsedAt: null,
  expiresAt: 4102444800000,
  revokedAt: null
};
var createWeb = { operation: "createApiKey", input: web, output: createdWeb };
var createApiKey2 = [
  {
    name: "secret",
    summary: "A secret key for all databases",
    input: { kind: "secret", name: "backend" },
    output: {
      id: "key_9dK1nR5tU3cYe7MxQs2b",
      kind: "secret",
      name: "backend",
      key: "svc_live_EXAMPLEEXAMPLEEXAMPLEEXAMPLE000000stuv",
      masked: "svc_live_****stuv",
      databases: null,
      createdAt,
      expiresAt: null
    }
  },
  {
    name: "limited",
    summary: "A public key for one database, until 2100",
    input: web,
    output: createdWeb
  },
  {
    name: "noSuchKind",
    summary: "An unknown kind",
    input: { kind: "admin" },
    error: {
      code: "invalid_request",
      message: 'kind is "admin"; it takes "secret" or "public".',
      field: "kind",
      hint: "A public key reads, a secret key reads and writes."
    }
  },
  {
    name: "badName",
    summary: "An invalid database name",
    input: { kind: "public", databases: ["App"] },
    error: {
      code: "invalid_name",
      message: 'databases[0] is "App"; a name matches [a-z0-9_-]{1,64}.',
      field: "databases[0]",
      hint: 'Use 1 to 64 lower-case letters, digits, "_" or "-".'
    }
  },
  {
    name: "reservedName",
    summary: "A reserved database name",
    input: { kind: "public", databases: ["_app"] },
    error: {
      code: "reserved_name",
      message: 'databases[0] is "_app"; names that start with "_" are reserved.',
      field: "databases[0]",
      hint: 'Drop the leading "_": "app".'
    }
  }
];
var listApiKeys2 = [
  {
    name: "newest",
    summary: "The newest key",
    given: [createWeb],
    input: { limit: 1 },
    output: { keys: [listedWeb], cursor: "AvIZPzwhifvURWu_-hqaGnMF2yENEwNSnxEh1SLlm6WyPPgqo83KTT046MtH" }
  }
];
var describeOwnApiKey2 = [
  {
    name: "own",
    summary: "The key of this request",
    input: {},
    output: {
      id: "key_2cH8kP4rS6aWd0JvXn5y",
      kind: "secret",
      name: null,
      masked: "svc_live_****mnop",
      databases: null,
      status: "active",
      createdAt: 1767139200000,
      lastUsedAt: 1767398340000,
      expiresAt: null,
      revokedAt: null,
      organization: "default"
    }
  }
];
var revokeApiKey2 = [
  {
    name: "revoke",
    summary: "Revoke a key",
    given: [createWeb],
    input: { id },
    output: { ...listedWeb, status: "revoked", revokedAt: 1767484800000 }
  },
  {
    name: "unknown",
    summary: "No such key",
    input: { id: "key_00000000000000000000" },
    error: {
      code: "key_not_found",
      message: "The organization has no API key with that id.",
      hint: ["Ids are listed by ", call("listApiKeys"), '; they start with "key_".']
    }
  }
];

// src/operations/api-keys/schemas.ts
init_limits();
var keyFields = {
  id: { type: "string", description: "Identifies the key, for example to revoke it." },
  kind: { type: "string", enum: ["secret", "public"] },
  name: nullable("string", {}),
  masked: { type: "string", description: "The prefix and the last four characters: `svc_live_****wxyz`." },
  databases: nullable("array", { items: ref("Name"), description: "The databases that the key may use; null: all." }),
  createdAt: milliseconds("When the key was created."),
  expiresAt: nullable("integer", { ...times, description: "Epoch milliseconds, or null." })
};
var apiKeySchemas = {
  CreateKeyRequest: closed(objectOf("The properties of the new key.", ["kind"], {
    kind: {
      type: "string",
      enum: ["secret", "public"],
      description: "A public key reads; a secret key reads and writes."
    },
    name: nullable("string", { minLength: 1, maxLength: keyNameCharactersMax, description: "A label for people." }),
    expiresAt: nullable("integer", { ...times, description: "Epoch milliseconds, in the future." }),
    databases: nullable("array", {
      items: ref("Name"),
      minItems: 1,
      maxItems: keyDatabasesMax,
      description: "The databases that the key may use; absent or null: all databases of the organization."
    })
  })),
  CreateKeyResponse: objectOf("A new key. `key` is shown only once.", ["id", "kind", "name", "key", "masked", "databases", "createdAt", "expiresAt"], {
    ...keyFields,
    key: {
      type: "string",
      pattern: "^svc_(live|pub)_[0-9A-Za-z]{38}$",
      description: "The key itself. Store it now: it is not shown again."
    }
  }),
  Key: objectOf("A key without its text.", ["id", "kind", "name", "masked", "databases", "status", "createdAt", "lastUsedAt", "expiresAt", "revokedAt"], {
    ...keyFields,
    status: { type: "string", enum: ["active", "expired", "revoked"] },
    lastUsedAt: nullable("integer", { ...times, description: "Epoch milliseconds; may lag by a minute." }),
    revokedAt: nullable("integer", { ...times, description: "Epoch milliseconds, or null." })
  }),
  KeyList: objectOf("Keys, newest first.", ["keys", "cursor"], {
    keys: { type: "array", items: ref("Key") },
    cursor: nextCursor
  })
};
var { Key } = apiKeySchemas;
var beside = objectOf("The calling key.", ["organization"], {
  organization: { type: "string", description: "The name of the organization that the key belongs to." }
});
var ownKeySchemas = {
  OwnKey: {
    ...beside,
    properties: { ...Key.properties, ...beside.properties },
    required: [...Key.required, ...beside.required]
  }
};

// src/operations/api-keys/catalogue.ts
var apiKeyCatalogue = {
  createApiKey: entry(createApiKeyOperation, {
    input: inputOf(apiKeySchemas.CreateKeyRequest, {}),
    output: ref("CreateKeyResponse"),
    examples: createApiKey2
  }),
  listApiKeys: entry(listApiKeysOperation, {
    input: inputOf({}, listingMembers),
    output: ref("KeyList"),
    examples: listApiKeys2
  }),
  describeOwnApiKey: entry(describeOwnApiKeyOperation, {
    input: inputOf({}, {}),
    output: ref("OwnKey"),
    examples: describeOwnApiKey2
  }),
  revokeApiKey: entry(revokeApiKeyOperation, {
    input: inputOf({}, { id: { ...ref("RecordKeyPart"), description: "The id of the key, from the list of keys." } }, [
      "id"
    ]),
    output: ref("Key"),
    examples: revokeApiKey2
  })
};

// src/operations/organizations/create-organization.ts
init_api_key();
init_names();
var createOrganization = async ({ engine }, { name }, nowMs) => {
  const secret = makeApiKey({ kind: "secret" });
  const open = makeApiKey({ kind: "public" });
  const organization = await engine.organizations.create(name, [secret.kept, open.kept], nowMs);
  return organization && { organization, secretKey: secret.text, publicKey: open.text };
};
var presentNewOrganization = ({ organization: { id, name }, secretKey, publicKey }) => ({
  id,
  name,
  secretKey,
  publicKey
});
var createOrganizationOperation = defineOperation({
  id: "createOrganization",
  area: "organizations",
  summary: "Create an organization with its first secret and public key",
  description: "The keys are shown only in this answer: the store keeps their hashes.",
  keyNeeded: "operator",
  effect: "writes",
  returns: "The organization and its keys; null if the name is taken.",
  codes: [],
  parse(text) {
    const members = parsePlainBody(text);
    refuseUnknownMembers(members, ["name"]);
    return { name: parseName(members.name, "name") };
  },
  run: createOrganization,
  present: (made) => made === undefined ? "null" : JSON.stringify(presentNewOrganization(made))
});

// src/operations/organizations/list-organizations.ts
var listOrganizations = async ({ engine }) => engine.organizations.list();
var presentOrganizations = (organizations) => ({
  organizations: organizations.map(({ id, name, createdAtMs }) => ({ id, name, createdAt: createdAtMs }))
});
var listOrganizationsOperation = defineOperation({
  id: "listOrganizations",
  area: "organizations",
  summary: "List organizations",
  description: "All organizations of the store, by name.",
  keyNeeded: "operator",
  effect: "reads",
  returns: "The organizations.",
  codes: [],
  parse(text) {
    refuseUnknownMembers(parsePlainBody(text), []);
    return {};
  },
  run: listOrganizations,
  present: (organizations) => JSON.stringify(presentOrganizations(organizations))
});

// src/operations/organizations/catalogue.ts
var id2 = { type: "integer" };
var key2 = { type: "string", pattern: "^svc_(live|pub)_[0-9A-Za-z]{38}$" };
var organizationCatalogue = {
  createOrganization: entry(createOrganizationOperation, {
    input: inputOf({}, { name: { ...ref("Name"), description: "A name that no other organization has." } }, ["name"]),
    output: {
      type: ["object", "null"],
      properties: { id: id2, name: ref("Name"), secretKey: key2, publicKey: key2 },
      required: ["id", "name", "secretKey", "publicKey"]
    },
    examples: [
      {
        name: "create",
        summary: "An organization",
        input: { name: "acme" },
        output: {
          id: 7,
          name: "acme",
          secretKey: "svc_live_EXAMPLEEXAMPLEEXAMPLEEXAMPLE000000stuv",
          publicKey: "svc_pub_EXAMPLEEXAMPLEEXAMPLEEXAMPLE000000wxyz"
        }
      },
      {
        name: "nameTaken",
        summary: "A name that is taken",
        given: [{ operation: "createOrganization", input: { name: "acme" } }],
        input: { name: "acme" },
        output: null,
        unchanged: true
      }
    ]
  }),
  listOrganizations: entry(listOrganizationsOperation, {
    input: inputOf({}, {}),
    output: {
      type: "object",
      properties: {
        organizations: {
          type: "array",
          items: {
            type: "object",
            properties: { id: id2, name: ref("Name"), createdAt: milliseconds("When it was created.") },
            required: ["id", "name", "createdAt"]
          }
        }
      },
      required: ["organizations"]
    },
    examples: [
      {
        name: "all",
        summary: "All organizations",
        input: {},
        output: { organizations: [{ id: 1, name: "default", createdAt: 1767139200000 }] }
      }
    ]
  })
};

// src/operations/records/examples.ts
var overtaken = [putInOrders({ ...secondOrder, data: {} }, laterAt)];
var wrongVersion = {
  code: "precondition_failed",
  message: `The record is at version ${laterAt}; nothing was changed.`,
  hint: "Read the record again, apply your change to it, and write with its new version."
};
var thirdOrder = {
  hashKey: "bob",
  rangeKey: "o-3",
  data: { status: "open", total: 12, placedAt: "2026-01-07T10:00:00Z" }
};
var paidOrder = { ...firstOrder, data: { ...firstOrder.data, status: "paid" } };
var session = { hashKey: "session-7", data: { user: "ada" }, ttl: 4102444800 };
var putRecord2 = [
  {
    name: "put",
    summary: "Write a record",
    input: { ...inOrders, ...thirdOrder },
    output: { ...thirdOrder, updatedAt: laterAt }
  },
  {
    name: "expiring",
    summary: "Write a record that expires, without a range key",
    input: { ...inOrders, ...session },
    output: { ...session, updatedAt: laterAt }
  },
  {
    name: "replace",
    summary: "Replace the version that was read",
    input: { ...inOrders, ifUpdatedAt: firstOrderAt, ...paidOrder },
    output: { ...paidOrder, updatedAt: laterAt }
  },
  {
    name: "create",
    summary: "Create, never replace",
    input: { ...inOrders, ifUpdatedAt: null, ...thirdOrder },
    output: { ...thirdOrder, updatedAt: laterAt }
  },
  {
    name: "wrongVersion",
    summary: "Replace a version that is out of date",
    given: overtaken,
    input: { ...inOrders, ifUpdatedAt: secondOrderAt, ...secondOrder },
    error: wrongVersion
  },
  {
    name: "typo",
    summary: "A field that is not known",
    input: { ...inOrders, hashKey: "bob", dat: {} },
    error: {
      code: "invalid_request",
      message: "dat is not a field of this request.",
      field: "dat",
      hint: "Known fields: hashKey, rangeKey, data, ttl."
    }
  },
  {
    name: "noKey",
    summary: "No hash key",
    input: { ...inOrders, data: {} },
    error: {
      code: "invalid_key",
      message: "hashKey is missing; it takes a string.",
      field: "hashKey",
      hint: "Give hashKey as a string of 1 to 1024 bytes."
    }
  },
  {
    name: "arrayInIndex",
    summary: "An indexed field that holds an array",
    input: { ...inOrders, hashKey: "bob", data: { status: ["open", "paid"] } },
    error: {
      code: "invalid_index_value",
      message: "data.status is an array; index i1 takes a string, number or boolean.",
      field: "data.status",
      hint: "Store it under another field, or leave data.status out: the index is sparse."
    }
  },
  {
    name: "millisecondsAsTtl",
    summary: "A ttl in milliseconds",
    input: { ...inOrders, hashKey: "bob", data: {}, ttl: 4102444800000 },
    error: {
      code: "invalid_ttl",
      message: "ttl is 4102444800000; it takes epoch seconds, an integer from 0 to 253402300799.",
      field: "ttl",
      hint: "It looks like milliseconds; give seconds: 4102444800."
    }
  }
];
var getRecord2 = [
  {
    name: "get",
    summary: "A record without a range key",
    input: { ...inOrders, hashKey: "draft" },
    output: { ...draft, updatedAt: draftAt }
  },
  {
    name: "absent",
    summary: "No such record",
    input: { ...inOrders, hashKey: "ada" },
    error: {
      code: "record_not_found",
      message: "There is no record with that key.",
      hint: ["If it has a range key, ", { give: "rangeKey" }, "."]
    }
  },
  {
    name: "get",
    summary: "A record with a range key",
    input: { ...inOrders, hashKey: "ada", rangeKey: "o-1" },
    output: { ...firstOrder, updatedAt: firstOrderAt }
  },
  {
    name: "absent",
    summary: "No such record",
    input: { ...inOrders, hashKey: "ada", rangeKey: "o-9" },
    error: { code: "record_not_found", message: "There is no record with that key." }
  }
];
var absentForCondition = {
  code: "precondition_failed",
  message: "The record does not exist; nothing was changed.",
  hint: "Write without the condition, or with one that holds for an absent record, to create it."
};
var deleteRecord2 = [
  {
    name: "delete",
    summary: "Delete a record without a range key",
    input: { ...inOrders, hashKey: "draft" },
    output: { deleted: true }
  },
  {
    name: "absent",
    summary: "No such record",
    input: { ...inOrders, hashKey: "ada" },
    output: { deleted: false }
  },
  {
    name: "mustExist",
    summary: "Only if it exists",
    input: { ...inOrders, hashKey: "ada", ifUpdatedAt: "*" },
    error: absentForCondition
  },
  {
    name: "delete",
    summary: "Delete the version that was read",
    input: { ...inOrders, hashKey: "ada", rangeKey: "o-1", ifUpdatedAt: firstOrderAt },
    output: { deleted: true }
  },
  {
    name: "wrongVersion",
    summary: "Delete a version that is out of date",
    given: overtaken,
    input: { ...inOrders, hashKey: "ada", rangeKey: "o-2", ifUpdatedAt: secondOrderAt },
    error: wrongVersion
  }
];
var first = { ...firstOrder, updatedAt: firstOrderAt };
var second = { ...secondOrder, updatedAt: secondOrderAt };
var withoutData = ({ hashKey, rangeKey, updatedAt }) => ({ hashKey, rangeKey, updatedAt });
var cursor = "Ahiozs1TS92gs31IqvfH-3B4rFIQ-TSvkM2O2hEJh9RqJEb_UwJwBmuTiAx128GwQjYVarx4B3kjRoCAHAU_";
var firstPage = { hash: "ada", range: { beginsWith: "o-" }, ascending: false, limit: 1 };
var askFirstPage = {
  operation: "queryRecords",
  input: { ...inOrders, ...firstPage },
  output: { items: [second], count: 1, cursor }
};
var queryRecords2 = [
  {
    name: "byPrimaryKey",
    summary: "The orders of a customer, last key first",
    input: { ...inOrders, ...firstPage },
    output: { items: [second], count: 1, cursor }
  },
  {
    name: "nextPage",
    summary: "The next page of the same query",
    given: [askFirstPage],
    input: { ...inOrders, ...firstPage, cursor },
    output: { items: [first], count: 1, cursor: null }
  },
  {
    name: "byRecency",
    summary: "The records written since a time, newest first",
    input: { ...inOrders, index: "t", range: { gte: "2026-01-01T00:00:00Z" } },
    output: { items: [{ ...draft, updatedAt: draftAt }, second, first], count: 3, cursor: null }
  },
  {
    name: "byIndex",
    summary: "Open orders placed in January",
    input: {
      ...inOrders,
      index: "i1",
      hash: "open",
      range: { gte: "2026-01-01T00:00:00Z", lt: "2026-02-01T00:00:00Z" },
      limit: 20
    },
    output: { items: [first, second], count: 2, cursor: null }
  },
  {
    name: "keysOnly",
    summary: "The keys and versions of the orders of a customer, without data",
    input: { ...inOrders, hash: "ada", range: { between: ["o-1", "o-2"] }, select: "keys" },
    output: { items: [withoutData(first), withoutData(second)], count: 2, cursor: null }
  },
  {
    name: "countOnly",
    summary: "How many orders are open",
    input: { ...inOrders, index: "i1", hash: "open", select: "count" },
    output: { items: [], count: 2, cursor: null }
  },
  {
    name: "nothingBetween",
    summary: "Bounds with nothing between them",
    input: { ...inOrders, hash: "ada", range: { gte: "o-1", lt: "o-1" } },
    output: { items: [], count: 0, cursor: null }
  },
  {
    name: "typo",
    summary: "A field that is not known",
    input: { ...inOrders, hash: "ada", limt: 10 },
    error: {
      code: "invalid_request",
      message: "limt is not a field of this request.",
      field: "limt",
      hint: "Known fields: index, hash, range, select, limit, ascending, cursor."
    }
  },
  {
    name: "noHash",
    summary: "By primary key, without a hash",
    input: { ...inOrders, limit: 10 },
    error: {
      code: "invalid_key",
      message: "hash is missing; it takes a string.",
      field: "hash",
      hint: 'Give hash, or index: "t" for the newest records of the table.'
    }
  },
  {
    name: "nullHash",
    summary: "A hash that cannot be indexed",
    input: { ...inOrders, index: "i1", hash: null },
    error: {
      code: "invalid_index_value",
      message: "hash is null; index i1 takes a string, number or boolean.",
      field: "hash",
      hint: "Give the value of status to look for."
    }
  },
  {
    name: "noSuchIndex",
    summary: "An index that was not declared",
    input: { ...inOrders, index: "i2", hash: "ada" },
    error: {
      code: "index_not_declared",
      message: "The table declares no index i2.",
      field: "index",
      hint: "Declared: i1 (status)."
    }
  },
  {
    name: "twoLowerBounds",
    summary: "A range with two lower bounds",
    input: { ...inOrders, hash: "ada", range: { gt: "o-1", gte: "o-2" } },
    error: {
      code: "invalid_range",
      message: "range has gt and gte; it takes one operator, or one of gt and gte together with one of lt and lte.",
      field: "range",
      hint: "Both are lower bounds; leave one of them out."
    }
  },
  {
    name: "boundsInWrongOrder",
    summary: "A range whose lower bound is above its upper one",
    input: { ...inOrders, hash: "ada", range: { gte: "o-9", lt: "o-1" } },
    error: {
      code: "invalid_range",
      message: "range has its low bound above its high one.",
      field: "range",
      hint: "Give gte the lower value."
    }
  },
  {
    name: "unknownSelect",
    summary: "A select that is not known",
    input: { ...inOrders, hash: "ada", select: "hashKey" },
    error: {
      code: "invalid_request",
      message: 'select is "hashKey"; it takes "data", "keys" or "count".',
      field: "select",
      hint: "Leave select out to get whole records."
    }
  },
  {
    name: "cursorOfAnother",
    summary: "The cursor of another query",
    given: [askFirstPage],
    input: { ...inOrders, hash: "bob", cursor },
    error: {
      code: "invalid_cursor",
      message: "cursor belongs to another query: table, hash, index, range and direction must be those it came with.",
      field: "cursor",
      hint: "Send the cursor of the previous answer with an otherwise identical request, or leave it out for the first page."
    }
  }
];
var findRecords2 = [
  {
    name: "find",
    summary: "Two orders and a draft, one of which does not exist",
    input: {
      ...inOrders,
      keys: [{ hashKey: "ada", rangeKey: "o-2" }, { hashKey: "ada", rangeKey: "o-9" }, { hashKey: "draft" }]
    },
    output: {
      items: [second, { ...draft, updatedAt: draftAt }],
      missing: [{ hashKey: "ada", rangeKey: "o-9" }],
      unread: []
    }
  },
  {
    name: "sameRecordTwice",
    summary: "One record twice",
    input: { ...inOrders, keys: [{ hashKey: "draft" }, { hashKey: "draft", rangeKey: "#" }] },
    error: {
      code: "batch_duplicate_keys",
      message: "keys[1] names the same record as keys[0].",
      field: "keys[1]",
      hint: 'Name each record once. No rangeKey and "#" are the same.'
    }
  },
  {
    name: "noKeys",
    summary: "No keys",
    input: { ...inOrders, keys: [] },
    error: {
      code: "invalid_request",
      message: "keys is empty; it takes 1 to 100 record keys.",
      field: "keys",
      hint: 'Write it as [{ "hashKey": \u2026 }, { "hashKey": \u2026, "rangeKey": \u2026 }].'
    }
  },
  {
    name: "noHashKey",
    summary: "A key without a hash key",
    input: { ...inOrders, keys: [{ hashKey: "draft" }, { rangeKey: "o-1" }] },
    error: {
      code: "invalid_key",
      message: "keys[1].hashKey is missing; it takes a string.",
      field: "keys[1].hashKey",
      hint: "Give keys[1].hashKey as a string of 1 to 1024 bytes."
    }
  }
];
var applyBatch2 = [
  {
    name: "mixed",
    summary: "Create one record, replace one, delete one",
    input: {
      ...inOrders,
      operations: [
        { op: "put", hashKey: "bob", rangeKey: "o-3", data: { status: "open" }, ifUpdatedAt: null },
        { op: "put", hashKey: "draft", data: { total: 12 }, ttl: 4102444800 },
        { op: "delete", hashKey: "ada", rangeKey: "o-2", ifUpdatedAt: secondOrderAt }
      ]
    },
    output: { count: 3 }
  },
  {
    name: "wrongVersion",
    summary: "One condition that does not hold",
    given: overtaken,
    input: {
      ...inOrders,
      operations: [
        { op: "delete", hashKey: "draft" },
        { op: "delete", hashKey: "ada", rangeKey: "o-2", ifUpdatedAt: secondOrderAt }
      ]
    },
    error: {
      code: "precondition_failed",
      message: `The record is at version ${laterAt}; nothing was changed.`,
      field: "operations[1].ifUpdatedAt",
      hint: "Read the record again, apply your change to it, and write with its new version."
    }
  },
  {
    name: "sameRecordTwice",
    summary: "Two operations on one record",
    input: {
      ...inOrders,
      operations: [
        { op: "delete", hashKey: "draft" },
        { op: "put", hashKey: "draft", rangeKey: "#", data: {} }
      ]
    },
    error: {
      code: "batch_duplicate_keys",
      message: "operations[1] names the same record as operations[0].",
      field: "operations[1]",
      hint: "Send the two operations in separate requests."
    }
  },
  {
    name: "noOperations",
    summary: "No operations",
    input: { ...inOrders, operations: [] },
    error: {
      code: "invalid_request",
      message: "operations is empty; it takes 1 to 25 operations.",
      field: "operations"
    }
  },
  {
    name: "noKey",
    summary: "An operation without a hash key",
    input: { ...inOrders, operations: [{ op: "delete" }] },
    error: {
      code: "invalid_key",
      message: "operations[0].hashKey is missing; it takes a string.",
      field: "operations[0].hashKey",
      hint: "Give operations[0].hashKey as a string of 1 to 1024 bytes."
    }
  },
  {
    name: "nullInIndex",
    summary: "An indexed field that holds null",
    input: { ...inOrders, operations: [{ op: "put", hashKey: "bob", data: { status: null } }] },
    error: {
      code: "invalid_index_value",
      message: "data.status is null; index i1 takes a string, number or boolean.",
      field: "operations[0].data.status",
      hint: "Store it under another field, or leave data.status out: the index is sparse."
    }
  },
  {
    name: "millisecondsAsTtl",
    summary: "A ttl in milliseconds",
    input: { ...inOrders, operations: [{ op: "put", hashKey: "bob", data: {}, ttl: 4102444800000 }] },
    error: {
      code: "invalid_ttl",
      message: "operations[0].ttl is 4102444800000; it takes epoch seconds, an integer from 0 to 253402300799.",
      field: "operations[0].ttl",
      hint: "It looks like milliseconds; give seconds: 4102444800."
    }
  }
];

// src/operations/records/query-schemas.ts
init_limits();
init_indices();

// src/operations/records/record-members.ts
init_limits();
var recordKeyPart = {
  type: "string",
  minLength: 1,
  maxLength: keyBytesMax,
  not: { enum: [".", ".."] },
  description: `1 to ${number(keyBytesMax)} bytes of UTF-8, any character, no lone surrogates. Only \`.\` and \`..\` are rejected, because URL parsers drop such segments.`
};
var hashKey = ref("RecordKeyPart");
var rangeKey = {
  ...ref("RecordKeyPart"),
  description: 'Optional. A record without a range key is stored with `#`: `"rangeKey": "#"` and no range key address the same record.'
};
var data = freeObject(`Any JSON object of at most ${number(dataBytesMax)} bytes, as it was sent, and ${dataDepthMax} levels. It is returned exactly as it was sent, with the same member order, number text and white space.`);
var ttl = {
  type: "integer",
  format: "int64",
  minimum: 0,
  maximum: ttlSecondsMax,
  description: "When the record expires: epoch seconds, not a duration. The record no longer exists once this second begins. A time more than a day in the past is rejected. A put without `ttl` removes an earlier `ttl`."
};
var updatedAt = milliseconds("The record's version, which is also its `ETag`. It strictly increases with every write while the record exists.");

// src/operations/records/query-schemas.ts
var limit = {
  type: "integer",
  minimum: 1,
  description: `The maximum number of items in a page, ${pageRowsDefault} if absent. A value above ${number(pageRowsMax)} counts as ${number(pageRowsMax)}. With \`select: "count"\` the maximum number of records that are counted: ${number(countRowsMax)} if absent, and at most.`
};
var select = {
  type: "string",
  enum: selections,
  description: "What the page has of each record. `data`: all of it, as without `select`. `keys`: all but `data`. `count`: nothing; `items` is empty, and `count` is the number of records that matched."
};
var page = {
  select,
  limit,
  cursor: nullable("string", {
    ...cursorText,
    description: "The `cursor` of the previous page, with the same hash, index, range and direction; null: the first page."
  })
};
var ascending = (absent) => ({
  type: "boolean",
  description: absent ? "False: descending order. True if absent." : "True: oldest first. False if absent."
});
var range = (description, operand, operators) => ({
  type: "object",
  description: `${description} One operator, or one of \`gt\` and \`gte\` together with one of \`lt\` and \`lte\`; \`between\` takes \`[low, high]\`, both inclusive. Two bounds have the same type, and the lower one is not above the upper one.`,
  minProperties: 1,
  maxProperties: 2,
  properties: Object.fromEntries(operators.map((operator) => [operator, operandOf(operator, operand)])),
  additionalProperties: false,
  not: {
    anyOf: [
      hasAll("gt", "gte"),
      hasAll("lt", "lte"),
      ...operators.filter(isWholeRange).map((operator) => ({ ...hasAll(operator), minProperties: 2 }))
    ]
  }
});
var hasAll = (...operators) => ({
  properties: Object.fromEntries(operators.map((operator) => [operator, {}])),
  required: operators
});
var isWholeRange = (operator) => ["eq", "between", "beginsWith"].includes(operator);
var operandOf = (operator, operand) => {
  if (operator === "between")
    return { type: "array", items: operand, minItems: 2, maxItems: 2 };
  return operator === "beginsWith" ? { type: "string", maxLength: indexStringBytesMax } : operand;
};
var primaryQuery = closed(objectOf("The records with one hash key, ordered by range key.", ["hash"], {
  hash: { ...ref("RecordKeyPart"), description: "The hash key." },
  range: ref("PrimaryRange"),
  ...page,
  ascending: ascending(true)
}));
var recencyQuery = closed(objectOf("All records of the table, ordered by `updatedAt`, newest first unless `ascending` is true.", ["index"], {
  index: { type: "string", const: "t" },
  range: ref("RecencyRange"),
  ...page,
  ascending: ascending(false)
}));
var indexQuery = closed(objectOf("The records with one value in the hash field of an index, ordered by its range field.", ["index", "hash"], {
  index: { type: "string", enum: slots },
  hash: { ...ref("IndexValue"), description: "The value of the hash field." },
  range: ref("IndexRange"),
  ...page,
  ascending: ascending(true)
}));
var hourAndMinute = "([01][0-9]|2[0-3]):[0-5][0-9]";
var isoDateTime = `^[0-9]{4}-(0[1-9]|1[0-2])-(0[1-9]|[12][0-9]|3[01])T${hourAndMinute}:[0-5][0-9](\\.[0-9]{1,9})?(Z|[+-]${hourAndMinute})$`;
var queryForms = [primaryQuery, recencyQuery, indexQuery];
var querySchemas = {
  IndexValue: {
    anyOf: [{ type: "string", maxLength: indexStringBytesMax }, { type: "number" }, { type: "boolean" }],
    description: `A string of at most ${number(indexStringBytesMax)} bytes, a number or a boolean. A strict ISO-8601 date-time (\`2026-01-05T10:00:00Z\`) counts as its epoch milliseconds.`
  },
  PrimaryRange: range("By range key: operands are strings.", ref("RangeKeyOperand"), rangeOperators),
  RangeKeyOperand: { type: "string", maxLength: keyBytesMax },
  RecencyRange: range("By `updatedAt`: operands are epoch milliseconds or ISO-8601 date-times.", ref("Instant"), rangeOperators.filter((operator) => operator !== "beginsWith")),
  Instant: {
    anyOf: [{ type: "number" }, { type: "string", pattern: isoDateTime }],
    description: "Epoch milliseconds, or an ISO-8601 date-time of a day that exists."
  },
  IndexRange: range("By the value of `rangeField`; matches only values of the same type as the operand.", ref("IndexValue"), rangeOperators),
  PrimaryQuery: primaryQuery,
  RecencyQuery: recencyQuery,
  IndexQuery: indexQuery,
  QueryRequest: {
    description: "One of three forms: by primary key, by recency, by declared index.",
    oneOf: [ref("PrimaryQuery"), ref("RecencyQuery"), ref("IndexQuery")]
  },
  QueryItem: objectOf("A record of a page.", ["hashKey", "updatedAt"], {
    hashKey,
    rangeKey,
    data: { ...data, description: `${data.description} Absent with \`select: "keys"\`.` },
    ttl,
    updatedAt
  }),
  QueryResponse: objectOf(`A page. It ends early where the JSON text of \`items\`, keys and escapes included, would exceed ${number(pageBytesMax)} bytes. A page may be short or even empty and still have a cursor: only null means the end.`, ["items", "count", "cursor"], {
    items: { type: "array", items: ref("QueryItem"), maxItems: pageRowsMax },
    count: {
      type: "integer",
      minimum: 0,
      maximum: countRowsMax,
      description: 'The number of items in this page; with `select: "count"` the number of records that matched.'
    },
    cursor: nextCursor
  })
};

// src/operations/records/schemas.ts
init_limits();
var ifUpdatedAt = nullable("integer", {
  ...exactIntegers,
  description: "The `updatedAt` that the record must have; null: it must not exist. If not, the whole batch is rejected."
});
var recordSchemas = {
  RecordKeyPart: recordKeyPart,
  PutRecordRequest: closed(objectOf("A record to write.", ["hashKey", "data"], { hashKey, rangeKey, data, ttl })),
  StoredRecord: objectOf("A record.", ["hashKey", "data", "updatedAt"], {
    hashKey,
    rangeKey,
    data,
    ttl,
    updatedAt
  }),
  MinimalRecord: objectOf("A record without its data: the answer to `Prefer: return=minimal`.", ["hashKey", "updatedAt"], { hashKey, rangeKey, ttl, updatedAt }),
  DeleteResult: objectOf("The result of a delete.", ["deleted"], {
    deleted: { type: "boolean", description: "False if there was no such record." }
  }),
  ...querySchemas,
  RecordKey: closed(objectOf("The key of a record.", ["hashKey"], { hashKey, rangeKey })),
  FindRequest: closed(objectOf("The keys of the records to read.", ["keys"], {
    keys: {
      type: "array",
      minItems: 1,
      maxItems: findKeysMax,
      items: ref("RecordKey"),
      description: "No two keys may name the same record."
    }
  })),
  FindResponse: objectOf("The records found. Every key asked for is in exactly one of the three lists.", ["items", "missing", "unread"], {
    items: {
      type: "array",
      items: ref("StoredRecord"),
      maxItems: findKeysMax,
      description: `The records found, in the order of \`keys\`: at most ${number(pageBytesMax)} bytes of JSON text, keys and escapes included.`
    },
    missing: {
      type: "array",
      items: ref("RecordKey"),
      maxItems: findKeysMax,
      description: 'The keys of records that do not exist, as asked. `"rangeKey": "#"` is left out.'
    },
    unread: {
      type: "array",
      items: ref("RecordKey"),
      maxItems: findKeysMax,
      description: "The keys for which `items` had no room: that of the first record that did not fit, and all after it. Ask for them again."
    }
  }),
  PutOperation: closed(objectOf("Writes a record.", ["op", "hashKey", "data"], {
    op: { type: "string", const: "put" },
    hashKey,
    rangeKey,
    data,
    ttl,
    ifUpdatedAt
  })),
  DeleteOperation: closed(objectOf("Deletes a record. It is not an error if the record does not exist.", ["op", "hashKey"], {
    op: { type: "string", const: "delete" },
    hashKey,
    rangeKey,
    ifUpdatedAt
  })),
  BatchRequest: closed(objectOf("Operations of which all are applied, or none.", ["operations"], {
    operations: {
      type: "array",
      minItems: 1,
      maxItems: batchOperationsMax,
      items: { oneOf: [ref("PutOperation"), ref("DeleteOperation")] },
      description: "No two operations may name the same record."
    }
  })),
  BatchResponse: objectOf("The result of a batch.", ["count"], {
    count: {
      type: "integer",
      minimum: 1,
      maximum: batchOperationsMax,
      description: "The number of operations, all of which were applied."
    }
  })
};

// src/operations/records/catalogue.ts
var keyMembers = {
  hashKey: { ...ref("RecordKeyPart"), description: "The record's hash key." },
  rangeKey: { ...ref("RecordKeyPart"), description: "The record's range key." }
};
var condition = {
  ifUpdatedAt: {
    oneOf: [nullable("integer", exactIntegers), { type: "string", const: "*" }],
    description: "Write only if this is the `updatedAt` of the record; null: only if it does not exist; `*`: only if it exists."
  }
};
var recordCatalogue = {
  putRecord: entry(putRecordOperation, {
    input: inputOf(recordSchemas.PutRecordRequest, { ...addressMembers, ...condition }, addressRequired),
    output: ref("StoredRecord"),
    examples: putRecord2
  }),
  getRecord: entry(getRecordOperation, {
    input: inputOf({}, { ...addressMembers, ...keyMembers }, [...addressRequired, "hashKey"]),
    output: ref("StoredRecord"),
    examples: getRecord2
  }),
  deleteRecord: entry(deleteRecordOperation, {
    input: inputOf({}, { ...addressMembers, ...keyMembers, ...condition }, [...addressRequired, "hashKey"]),
    output: ref("DeleteResult"),
    examples: deleteRecord2
  }),
  queryRecords: entry(queryRecordsOperation, {
    input: inputOf({ ...recordSchemas.QueryRequest, oneOf: queryForms }, addressMembers, addressRequired),
    output: ref("QueryResponse"),
    examples: queryRecords2
  }),
  findRecords: entry(findRecordsOperation, {
    input: inputOf(recordSchemas.FindRequest, addressMembers, addressRequired),
    output: ref("FindResponse"),
    examples: findRecords2
  }),
  applyBatch: entry(applyBatchOperation, {
    input: inputOf(recordSchemas.BatchRequest, addressMembers, addressRequired),
    output: ref("BatchResponse"),
    examples: applyBatch2
  })
};

// src/operations/tables/examples.ts
init_hint();
var listDatabases2 = [
  { name: "all", summary: "All databases", input: {}, output: { databases: ["app"], cursor: null } },
  {
    name: "onePage",
    summary: "The first of several pages",
    given: [{ operation: "createTable", input: { db: "blog", table: "posts" } }],
    input: { limit: 1 },
    output: { databases: ["app"], cursor: "AjnWL1ysTG7OgIijV-gOTYoW9kLfm3-R7-mIQd-E7J95o744" }
  }
];
var listTables2 = [
  { name: "all", summary: "All tables", input: { db: "app" }, output: { tables: [orders], cursor: null } },
  {
    name: "deletedOnes",
    summary: "The deleted tables that can be restored",
    given: [deleteOrders],
    input: { db: "app", deleted: true },
    output: { tables: [deletedOrders], cursor: null }
  }
];
var createTable2 = [
  {
    name: "plain",
    summary: "A table without indices",
    input: { db: "app", table: "customers" },
    output: { db: "app", table: "customers", indices: {}, status: "active", createdAt: laterAt }
  },
  {
    name: "withIndices",
    summary: "A table with two indices",
    input: {
      ...inOrders,
      table: "invoices",
      indices: { i1: { hashField: "status", rangeField: "dueAt" }, i2: { hashField: "customer" } }
    },
    output: {
      db: "app",
      table: "invoices",
      indices: { i1: { hashField: "status", rangeField: "dueAt" }, i2: { hashField: "customer" } },
      status: "active",
      createdAt: laterAt
    }
  },
  {
    name: "again",
    summary: "A table that already exists",
    input: { ...inOrders, indices },
    output: orders,
    unchanged: true
  },
  {
    name: "otherIndices",
    summary: "A table that already exists with other indices",
    input: { ...inOrders, indices: { i1: { hashField: "customer" } } },
    error: {
      code: "table_exists",
      message: "The table orders exists with other indices, and indices are immutable.",
      field: "indices",
      hint: `It declares ${JSON.stringify(indices)}. Use those, or create a table with another name.`
    }
  },
  {
    name: "noSuchSlot",
    summary: "An unknown slot",
    input: { db: "app", table: "customers", indices: { email: { hashField: "email" } } },
    error: {
      code: "invalid_index",
      message: "indices.email is not a slot.",
      field: "indices.email",
      hint: "Slots are i1, i2, i3, i4 and i5."
    }
  }
];
var describeTable2 = [
  { name: "describe", summary: "A table", input: inOrders, output: orders },
  {
    name: "deleted",
    summary: "A table that was deleted",
    given: [deleteOrders],
    input: inOrders,
    error: {
      code: "table_not_found",
      message: "The table orders in database app was deleted.",
      hint: [
        "Restore it until 2026-01-09T00:00:00.000Z: ",
        call("restoreTable", inOrders),
        "; or create a new, empty table: ",
        call("createTable", inOrders)
      ]
    }
  }
];
var deleteTable2 = [
  { name: "delete", summary: "Delete a table", input: inOrders, output: deletedOrders }
];
var restoreTable2 = [
  { name: "newest", summary: "The table deleted last", given: [deleteOrders], input: inOrders, output: orders },
  {
    name: "byTime",
    summary: "The table deleted at this time",
    given: [deleteOrders],
    input: { ...inOrders, deletedAt: tableDeletedAt },
    output: orders
  },
  {
    name: "nameTaken",
    summary: "The name is taken by a new table",
    given: [deleteOrders, { operation: "createTable", input: inOrders }],
    input: inOrders,
    error: {
      code: "table_exists",
      message: "An active table has the name orders.",
      hint: [
        "Delete it first (",
        call("deleteTable", inOrders),
        "), then restore with ",
        { send: { deletedAt: tableDeletedAt } },
        "."
      ]
    }
  },
  {
    name: "noSuchDeletion",
    summary: "No table was deleted at this time",
    given: [deleteOrders],
    input: { ...inOrders, deletedAt: 1 },
    error: {
      code: "table_not_found",
      message: "No recoverable table orders was deleted at 1.",
      field: "deletedAt",
      hint: ["See ", call("listTables", { db: "app", deleted: true }), ", or leave deletedAt out for the newest."]
    }
  }
];

// src/operations/tables/catalogue.ts
var address = inputOf({}, addressMembers, addressRequired);
var tableCatalogue = {
  listDatabases: entry(listDatabasesOperation, {
    input: inputOf({}, listingMembers),
    output: ref("DatabaseList"),
    examples: listDatabases2
  }),
  listTables: entry(listTablesOperation, {
    input: inputOf({}, {
      ...dbMember,
      ...listingMembers,
      deleted: {
        type: "boolean",
        default: false,
        description: "True: list the deleted tables that can still be restored, by name, then `deletedAt`."
      }
    }, ["db"]),
    output: ref("TableList"),
    examples: listTables2
  }),
  createTable: entry(createTableOperation, {
    input: inputOf(tableSchemas.CreateTableRequest, addressMembers, addressRequired),
    output: ref("ActiveTable"),
    examples: createTable2
  }),
  describeTable: entry(describeTableOperation, {
    input: address,
    output: ref("ActiveTable"),
    examples: describeTable2
  }),
  deleteTable: entry(deleteTableOperation, {
    input: address,
    output: ref("DeletedTable"),
    examples: deleteTable2
  }),
  restoreTable: entry(restoreTableOperation, {
    input: inputOf(tableSchemas.RestoreTableRequest, addressMembers, addressRequired),
    output: ref("ActiveTable"),
    examples: restoreTable2
  })
};

// src/operations/catalogue.ts
var catalogue = {
  ...organizationCatalogue,
  ...apiKeyCatalogue,
  ...tableCatalogue,
  ...recordCatalogue
};
var membersOf = ({ properties, oneOf = [] }) => [
  ...new Set([...Object.keys(properties ?? {}), ...oneOf.flatMap(membersOf)])
];
var inputMembers = ({ input }) => membersOf(input);
var codesOf = (entry) => {
  const members = inputMembers(entry);
  const codes = new Set([...entry.codes, "invalid_request", "internal", "store_damaged", "unavailable"]);
  const add = (...more) => {
    for (const code of more)
      codes.add(code);
  };
  if (members.includes("db"))
    add("invalid_name", "reserved_name");
  if (members.includes("hashKey"))
    add("invalid_key");
  if (entry.effect !== "reads")
    add("outcome_unknown", "storage_full");
  return errorCodes.filter((code) => codes.has(code));
};

// src/openapi/examples/records.ts
var etag = (updatedAt) => ({ ETag: `"${updatedAt}"` });
var order = { hashKey: "bob", rangeKey: "o-3", data: { status: "open" } };
var putRecord3 = [
  {
    name: "minimal",
    summary: "Get an answer without data",
    parameters: { Prefer: "return=minimal" },
    body: order,
    status: 200,
    headers: etag(laterAt),
    answer: { hashKey: "bob", rangeKey: "o-3", updatedAt: laterAt }
  }
];
var unchanged = (parameters, updatedAt) => ({
  name: "unchanged",
  summary: "A copy that is still current",
  parameters: { ...parameters, "If-None-Match": `"${updatedAt}"` },
  status: 304,
  headers: etag(updatedAt)
});
var getRecord3 = [
  unchanged({ hashKey: "draft" }, draftAt),
  unchanged({ hashKey: "ada", rangeKey: "o-1" }, firstOrderAt)
];
var exists = (parameters, updatedAt) => ({
  name: "exists",
  summary: "Does it exist, and at which version?",
  parameters,
  status: 200,
  headers: etag(updatedAt)
});
var headRecord = [
  exists({ hashKey: draft.hashKey }, draftAt),
  exists({ hashKey: firstOrder.hashKey, rangeKey: firstOrder.rangeKey }, firstOrderAt)
];

// src/openapi/examples/service.ts
var getEntryPoint = [
  {
    name: "program",
    summary: "For a program",
    status: 200,
    answer: {
      name: "Cubby",
      version: package_default.version,
      docs: "http://127.0.0.1:4600/docs",
      openapi: "http://127.0.0.1:4600/openapi.json"
    }
  }
];
var checkHealth = [{ name: "alive", summary: "Alive", status: 200, answer: { status: "ok" } }];
var checkReadiness = [
  { name: "ready", summary: "Ready", status: 200, answer: { status: "ready" } }
];
var getDescription = [
  {
    name: "description",
    summary: "This document, shortened",
    status: 200,
    answer: { openapi: "3.1.0", info: { title: "Cubby" } }
  }
];
var getDocsPage = [
  {
    name: "page",
    summary: "The page, shortened",
    status: 200,
    answer: `<!doctype html>
<html lang="en">`,
    contentType: "text/html"
  }
];
var preflight = [
  {
    name: "put",
    summary: "May a page send PUT?",
    parameters: { "Access-Control-Request-Method": "PUT" },
    status: 204,
    headers: { "Access-Control-Allow-Methods": "GET, HEAD, POST, PUT, DELETE, OPTIONS" }
  }
];

// src/openapi/operations.ts
var tags = {
  Tables: "A database exists while it has a table. Indices are declared when a table is created and cannot be changed later.",
  Records: "A record is a JSON object with a hash key and an optional range key.",
  "Queries and batches": "Many records at once: read in the order of an index or by their keys, or written all or none.",
  "API keys": "Managing keys needs a secret key without a `databases` limit. Every key may describe itself.",
  Service: "These routes need no API key."
};
var verbsAreKeys = `The words ${verbs.map((verb) => `\`${verb}\``).join(", ")} are verbs only for POST: here they are ordinary hash keys.`;
var outputName = ({ output }) => output.$ref.split("/").at(-1);
var bodyOf = ({ schema, required, bytesMax }) => ({
  schema,
  required,
  description: `JSON in UTF-8, at most ${binaryBytes(bytesMax)}.`
});
var routed = (id, notes) => {
  const { tag, note, headers = [], examples = [], ...more } = notes;
  const entry = catalogue[id];
  const route = findRoute(id);
  const answers = more.answers ?? { 200: { description: entry.returns, schema: outputName(entry) } };
  const statuses = Object.keys(answers).map(Number).filter((status) => status < 300);
  const status = { done: Math.max(...statuses), unchanged: Math.min(...statuses) };
  const tagged = answers[status.done].headers?.includes("ETag") ?? false;
  return {
    tag,
    summary: entry.summary,
    ...more,
    description: note === undefined ? entry.description : `${entry.description} ${note}`,
    parameters: [...route.query ?? [], ...headers],
    body: route.body && bodyOf(route.body),
    answers,
    codes: codesOf(entry),
    examples: [...entry.examples.map((example) => toHttpExample(route, example, status, tagged)), ...examples]
  };
};
var copies = "Compressed for clients that accept gzip. The answer has an `ETag`; with it in `If-None-Match` the answer is 304 while the copy is current.";
var currentCopy = { 304: { description: "The copy is current." } };
var foundRecord = { 304: { description: "The record is still at that version.", headers: ["ETag"] } };
var operations = {
  listDatabases: routed("listDatabases", { tag: "Tables" }),
  listTables: routed("listTables", { tag: "Tables" }),
  createTable: routed("createTable", {
    tag: "Tables",
    note: "The body may be empty.",
    answers: {
      200: { description: "The table already exists with the same indices.", schema: "ActiveTable" },
      201: { description: "Created.", schema: "ActiveTable" }
    }
  }),
  describeTable: routed("describeTable", { tag: "Tables" }),
  deleteTable: routed("deleteTable", { tag: "Tables", note: "The request has no body." }),
  restoreTable: routed("restoreTable", { tag: "Tables", note: "The body may be empty." }),
  putRecord: routed("putRecord", {
    tag: "Records",
    note: "Send the condition as `If-Match` or `If-None-Match`.",
    headers: ["If-Match", "If-None-Match: *", "Prefer"],
    answers: {
      200: {
        description: "The record. With `Prefer: return=minimal` it has no `data`.",
        schema: ["StoredRecord", "MinimalRecord"],
        headers: ["ETag"]
      }
    },
    examples: putRecord3
  }),
  getRecord: routed("getRecord", {
    tag: "Records",
    summary: "Get a record without a range key",
    summaryWithRangeKey: "Get a record with a range key",
    note: `\`If-Match\` is not allowed here. ${verbsAreKeys}`,
    headers: ["If-None-Match"],
    answers: { 200: { description: "The record.", schema: "StoredRecord", headers: ["ETag"] }, ...foundRecord },
    examples: getRecord3
  }),
  headRecord: {
    tag: "Records",
    summary: "Check for a record without a range key",
    summaryWithRangeKey: "Check for a record with a range key",
    description: "Like GET, but without a body: tells whether the record exists, and its version.",
    parameters: ["If-None-Match"],
    answers: { 200: { description: "The record exists.", headers: ["ETag"] }, ...foundRecord },
    codes: codesOf(catalogue.getRecord),
    examples: headRecord
  },
  deleteRecord: routed("deleteRecord", {
    tag: "Records",
    summary: "Delete a record without a range key",
    summaryWithRangeKey: "Delete a record with a range key",
    note: `The request has no body; \`If-None-Match\` is not allowed here. ${verbsAreKeys}`,
    headers: ["If-Match"]
  }),
  queryRecords: routed("queryRecords", { tag: "Queries and batches" }),
  findRecords: routed("findRecords", { tag: "Queries and batches" }),
  applyBatch: routed("applyBatch", { tag: "Queries and batches" }),
  createApiKey: routed("createApiKey", {
    tag: "API keys",
    answers: { 201: { description: "The new key.", schema: "CreateKeyResponse" } }
  }),
  listApiKeys: routed("listApiKeys", { tag: "API keys" }),
  describeOwnApiKey: routed("describeOwnApiKey", { tag: "API keys" }),
  revokeApiKey: routed("revokeApiKey", { tag: "API keys", note: "The request has no body." }),
  getEntryPoint: {
    tag: "Service",
    summary: "Where is everything?",
    description: "The name and version of the server, and the addresses of its descriptions. A browser, whose `Accept` prefers `text/html`, is redirected to the page.",
    answers: {
      200: { description: "Name, version and addresses.", schema: "EntryPoint" },
      302: { description: "To a browser: the page for people.", headers: ["Location"] }
    },
    codes: ["internal"],
    examples: getEntryPoint
  },
  checkHealth: {
    tag: "Service",
    summary: "Is the process alive?",
    description: "Liveness probe.",
    answers: { 200: { description: "The process is alive.", schema: "Health" } },
    codes: [],
    examples: checkHealth
  },
  checkReadiness: {
    tag: "Service",
    summary: "Can the process serve requests?",
    description: "Readiness probe: 503 while the store cannot be used.",
    answers: { 200: { description: "The process can serve requests.", schema: "Health" } },
    codes: ["unavailable"],
    examples: checkReadiness
  },
  getDescription: {
    tag: "Service",
    summary: "Get this description as OpenAPI",
    description: `An OpenAPI 3.1 document, generated from the routes that the server uses. ${copies}`,
    answers: { 200: { description: "The document.", schema: "OpenApi" }, ...currentCopy },
    codes: ["internal"],
    examples: getDescription
  },
  getDocsPage: {
    tag: "Service",
    summary: "Get this description as a web page",
    description: `One HTML page that loads nothing else. ${copies}`,
    answers: {
      200: {
        description: "The page.",
        contentType: "text/html",
        schema: "Page",
        headers: ["Content-Security-Policy"]
      },
      ...currentCopy
    },
    codes: ["internal"],
    examples: getDocsPage
  },
  preflight: {
    tag: "Service",
    summary: "What may a page from another origin send?",
    description: "Browsers send this before some requests (CORS preflight). Every path gives the same answer, even an unknown one.",
    parameters: ["Access-Control-Request-Method"],
    answers: {
      204: {
        description: "All methods and headers that the service accepts.",
        headers: ["Access-Control-Allow-Methods", "Access-Control-Allow-Headers", "Access-Control-Max-Age"]
      }
    },
    codes: [],
    examples: preflight
  }
};
var describedAs = (id) => operations[id];

// src/openapi/parameters.ts
init_limits();

// src/openapi/schemas.ts
init_limits();

// src/operations/schemas.ts
var schemas = { ...tableSchemas, ...recordSchemas, ...apiKeySchemas, ...ownKeySchemas };

// src/openapi/schemas.ts
var asComponent = (schema) => JSON.parse(JSON.stringify(schema).replaceAll('"#/$defs/', '"#/components/schemas/'));
var httpSchemas = {
  EntryPoint: objectOf("Where everything is.", ["name", "version", "docs", "openapi"], {
    name: { type: "string", enum: ["Cubby"] },
    version: { type: "string", description: "The version of the server." },
    docs: { type: "string", description: "The URL of the description for people." },
    openapi: { type: "string", description: "The URL of the description for programs." }
  }),
  Health: {
    type: "object",
    description: "The server is alive or ready.",
    properties: { status: { type: "string", enum: ["ok", "ready"] } },
    required: ["status"]
  },
  OpenApi: {
    type: "object",
    description: "An OpenAPI document.",
    properties: {
      openapi: { type: "string", pattern: "^3\\.1\\." },
      info: freeObject("Title, version and introduction.")
    },
    required: ["openapi", "info"],
    additionalProperties: true
  },
  Page: { type: "string", description: "HTML." },
  Error: objectOf("The body of every error.", ["error"], {
    error: objectOf("The error.", ["code", "message", "requestId"], {
      code: {
        type: "string",
        enum: errorCodes,
        "x-enumDescriptions": meanings,
        description: "For programs. Later versions may add codes; no code is removed or changes its meaning."
      },
      message: { type: "string", description: "For people: what was found and what was expected." },
      field: {
        type: "string",
        description: "The path of the wrong field: `data.status`, `operations[3].hashKey`."
      },
      hint: { type: "string", description: "The suggested next step, if there is one." },
      requestId: { type: "string", maxLength: requestIdCharactersMax, description: "The same as `X-Request-Id`." }
    })
  })
};
var schemas2 = { ...asComponent(schemas), ...httpSchemas };
var refTo = (name) => ({ $ref: `#/components/schemas/${name}` });

// src/openapi/parameters.ts
var fromInput = (id, name, where, note = "") => {
  const { description, ...schema } = catalogue[id].input.properties[name];
  return {
    name,
    in: where,
    ...where === "path" && { required: true, example: pathExamples[name] },
    description: [description, note].join(" ").trimEnd(),
    schema: asComponent(schema)
  };
};
var pathExamples = {
  db: "app",
  table: "orders",
  hashKey: "ada",
  rangeKey: "o-1",
  id: "key_4fJ2mQ9sT7bXc1LwZr8a"
};
var encoded = "Percent-encoded once, as `encodeURIComponent` does.";
var parameters = {
  db: fromInput("getRecord", "db", "path"),
  table: fromInput("getRecord", "table", "path"),
  hashKey: fromInput("getRecord", "hashKey", "path", encoded),
  rangeKey: fromInput("getRecord", "rangeKey", "path", encoded),
  id: fromInput("revokeApiKey", "id", "path"),
  limit: fromInput("listTables", "limit", "query"),
  cursor: fromInput("listTables", "cursor", "query"),
  deleted: fromInput("listTables", "deleted", "query"),
  "If-Match": {
    name: "If-Match",
    in: "header",
    description: "Write only if the record is at this version: the `ETag` of an answer, including the quotes. `*`: only if it exists. One strong tag, not a list.",
    schema: { type: "string", pattern: '^(\\*|"[\\x21\\x23-\\x7e\\x80-\\xff]*")$' }
  },
  "If-None-Match": {
    name: "If-None-Match",
    in: "header",
    description: "Answer 304 if the record is still at this version. Lists, weak tags and `*` work as HTTP defines.",
    schema: { type: "string" }
  },
  "If-None-Match: *": {
    name: "If-None-Match",
    in: "header",
    description: "`*`: write only if the record does not exist. It cannot be combined with `If-Match`.",
    schema: { type: "string", pattern: "^\\*$" }
  },
  Prefer: {
    name: "Prefer",
    in: "header",
    description: "`return=minimal`: answer without `data`.",
    schema: { type: "string" }
  },
  "Access-Control-Request-Method": {
    name: "Access-Control-Request-Method",
    in: "header",
    description: "Sent by the browser: the method that it wants to use.",
    schema: { type: "string" }
  }
};
var parameterComponent = (name) => name === "If-None-Match: *" ? "If-None-Match-Any" : name;
var parameterRef = (name) => ({
  $ref: `#/components/parameters/${parameterComponent(name)}`
});
var fixed = (description, value) => ({
  description,
  required: true,
  schema: { type: "string", enum: [value] }
});
var headers = {
  "X-Request-Id": {
    description: "The id that the caller sent, if it was well-formed; otherwise a new one.",
    required: true,
    schema: { type: "string", minLength: 1, maxLength: requestIdCharactersMax, pattern: "^[\\x21-\\x7e]+$" }
  },
  "Cache-Control": fixed("Clients may cache the answer but must revalidate it.", "private, no-cache"),
  "Access-Control-Allow-Origin": fixed("Pages from every origin may read the answer.", "*"),
  "Access-Control-Expose-Headers": fixed("The headers that such pages may read.", "ETag, Retry-After, X-Request-Id"),
  ETag: {
    description: "The record\u2019s version, for `If-Match` and `If-None-Match`: its `updatedAt` in quotes.",
    required: true,
    schema: { type: "string", pattern: '^"[0-9]+"$' }
  },
  Location: {
    description: "The path of the page, relative to the host.",
    required: true,
    schema: { type: "string" },
    example: "/docs"
  },
  "WWW-Authenticate": fixed("How to authenticate.", "Bearer"),
  Allow: {
    description: "The methods of this path.",
    required: true,
    schema: { type: "string" },
    example: "DELETE, GET, HEAD, OPTIONS, POST, PUT"
  },
  "Retry-After": {
    description: "Seconds after which to repeat the request.",
    required: true,
    schema: { type: "integer", minimum: retryAfterSeconds, maximum: retryAfterSeconds },
    example: retryAfterSeconds
  },
  "Access-Control-Allow-Methods": {
    description: "The methods that the service accepts.",
    required: true,
    schema: { type: "string" }
  },
  "Access-Control-Allow-Headers": {
    description: "The headers that a page may send.",
    required: true,
    schema: { type: "string" },
    example: "authorization, content-type, if-match, if-none-match, prefer, x-request-id"
  },
  "Access-Control-Max-Age": {
    description: "Seconds for which the browser may cache this answer: a day.",
    required: true,
    schema: { type: "integer", minimum: 0, maximum: 86400 },
    example: 86400
  },
  "Content-Security-Policy": {
    description: "The page loads nothing: its own style and script are allowed by their hashes.",
    required: true,
    schema: { type: "string" }
  }
};
var headerRef = (name) => ({ $ref: `#/components/headers/${name}` });

// src/core/text/shell-word.ts
var shellWord = (text) => /^[A-Za-z0-9_./:=@%+,-]+$/.test(text) ? text : `'${text.replaceAll("'", "'\\''")}'`;

// src/openapi/samples/literal.ts
var quoted = (text) => JSON.stringify(text);
var singleQuoted = (text) => text.includes("'") ? quoted(text) : `'${quoted(text).slice(1, -1).replaceAll("\\\"", '"')}'`;
var json = {
  words: { true: "true", false: "false", null: "null" },
  text: quoted,
  memberName: quoted,
  padding: "",
  indent: "  ",
  trailingComma: false
};
var typescript = {
  ...json,
  text: singleQuoted,
  memberName: (name) => /^[A-Za-z_$][\w$]*$/.test(name) ? name : singleQuoted(name),
  padding: " ",
  trailingComma: true
};
var python = {
  ...json,
  words: { true: "True", false: "False", null: "None" },
  indent: "    ",
  trailingComma: true
};
var columnsMax = 66;

class Source {
  text;
  constructor(text) {
    this.text = text;
  }
}
var scalar = (value, { words, text }) => {
  if (value instanceof Source)
    return value.text;
  if (typeof value === "string")
    return text(value);
  if (typeof value === "boolean" || value === null)
    return words[`${value}`];
  return typeof value === "number" ? String(value) : undefined;
};
var onOneLine = (value, syntax) => {
  const simple = scalar(value, syntax);
  if (simple !== undefined)
    return simple;
  if (Array.isArray(value))
    return `[${value.map((item) => onOneLine(item, syntax)).join(", ")}]`;
  const members = Object.entries(value);
  if (members.length === 0)
    return "{}";
  const texts = members.map(([name, member]) => `${syntax.memberName(name)}: ${onOneLine(member, syntax)}`);
  return `{${syntax.padding}${texts.join(", ")}${syntax.padding}}`;
};
var literal = (value, syntax, depth = 0, before = 0) => {
  const line = onOneLine(value, syntax);
  const start = depth * syntax.indent.length + before;
  if (start + line.length <= columnsMax || scalar(value, syntax) !== undefined)
    return line;
  const inner = syntax.indent.repeat(depth + 1);
  const lines = Array.isArray(value) ? value.map((item) => inner + literal(item, syntax, depth + 1)) : Object.entries(value).map(([name, member]) => {
    const head = `${syntax.memberName(name)}: `;
    return inner + head + literal(member, syntax, depth + 1, head.length);
  });
  const [open, close] = Array.isArray(value) ? "[]" : "{}";
  return `${open}
${lines.join(`,
`)}${syntax.trailingComma ? "," : ""}
${syntax.indent.repeat(depth)}${close}`;
};

// src/openapi/curl.ts
var keyHeader = "Authorization: Bearer $CUBBY_KEY";
var typeHeader = "Content-Type: application/json";
var curlLine = ({ method, target, headers, body, withKey }) => {
  const words = [`curl ${methodFlag(method)}"$CUBBY_URL${target}"`];
  if (withKey)
    words.push(`-H "${keyHeader}"`);
  if (body !== undefined)
    words.push(`-H '${typeHeader}'`);
  for (const [name, value] of Object.entries(headers))
    words.push(`-H ${shellWord(`${name}: ${value}`)}`);
  if (body !== undefined)
    words.push(`-d ${shellWord(literal(body, json, 1, 4))}`);
  return words.join(" \\\n  ");
};
var methodFlag = (method) => {
  if (method === "GET")
    return "";
  return method === "HEAD" ? "-I " : `-X ${method} `;
};
var wordsOf = (source) => Array.from(source.matchAll(/(?:"[^"]*"|'[^']*'|\\'|[^\s'"\\])+/g), ([word]) => word.replace(/"([^"]*)"|'([^']*)'|\\'/g, (all, double, single) => all === "\\'" ? "'" : double ?? single));
var parseCurlLine = (source) => {
  const request = { method: "GET", target: "", headers: {}, withKey: false };
  const words = wordsOf(source).slice(1);
  for (let i = 0;i < words.length; i++) {
    const word = words[i];
    if (word === "-I")
      request.method = "HEAD";
    else if (word === "-X")
      request.method = words[++i];
    else if (word === "-d")
      request.body = JSON.parse(words[++i]);
    else if (word !== "-H")
      request.target = word.replace("$CUBBY_URL", "");
    else {
      const header = words[++i];
      if (header === keyHeader)
        request.withKey = true;
      else if (header !== typeHeader)
        request.headers[header.split(": ", 1)[0]] = header.replace(/^[^:]*: /, "");
    }
  }
  return request;
};

// src/openapi/responses.ts
init_limits();

// src/openapi/served-operation.ts
var servedOperation = (id, method, path, keyNeeded) => ({ id, operation: describedAs(id), method, path, keyNeeded });
var pathParameters2 = (path) => pathParameters(path);
var examplesAt = ({ operation, path }) => {
  const takesRangeKey = pathParameters2(path).includes("rangeKey");
  return operation.examples.filter(({ parameters: given = {} }) => given.rangeKey !== undefined === takesRangeKey);
};

// src/openapi/responses.ts
var commonHeaders2 = [
  "X-Request-Id",
  "Cache-Control",
  "Access-Control-Allow-Origin",
  "Access-Control-Expose-Headers"
];
var headerExample = ({ headers: shown, answer, given }, name) => ({
  value: shown[name],
  ...answer === undefined && given && { "x-given": given }
});
var headerObject = (name, examples) => {
  const values = examples.filter(({ headers: shown = {} }) => shown[name] !== undefined);
  if (values.length === 0)
    return headerRef(name);
  const { example, ...rest } = headers[name];
  return { ...rest, examples: Object.fromEntries(values.map((shown) => [shown.name, headerExample(shown, name)])) };
};
var headerObjects = (names, examples = []) => Object.fromEntries(names.map((name) => [name, headerObject(name, examples)]));
var isRejection = (status) => status >= 400;
var answerExamples = (examples) => Object.fromEntries(examples.map(({ name, summary, answer, given, status, body }) => [
  name,
  {
    summary,
    value: answer,
    ...given && { "x-given": given },
    ...isRejection(status) && body !== undefined && { "x-request-body": body }
  }
]));
var schemaOf = (schema) => Array.isArray(schema) ? { anyOf: schema.map((name) => refTo(name)) } : refTo(schema);
var successResponse = (answer, all, status) => {
  const { description, schema, contentType = "application/json" } = answer;
  const examples = all.filter((example) => example.status === status);
  const common = status === 204 ? commonHeaders2.filter((name) => name !== "Cache-Control") : commonHeaders2;
  const response = { description, headers: headerObjects([...common, ...answer.headers ?? []], examples) };
  if (schema === undefined)
    return response;
  const media = { schema: schemaOf(schema) };
  if (examples.length > 0)
    media.examples = answerExamples(examples);
  return { ...response, content: { [contentType]: media } };
};
var errorHeaders = {
  401: ["WWW-Authenticate"],
  405: ["Allow"],
  503: ["Retry-After"]
};
var codeOf = ({ answer }) => answer.error.code;
var errorResponse = (status, codes, all = []) => {
  const own = all.filter((example) => example.status === status);
  const shared = codes.filter((code) => !own.some((example) => codeOf(example) === code));
  return {
    description: codes.map((code) => `\`${code}\`: ${meanings[code]}`).join(`

`),
    headers: headerObjects([...commonHeaders2, ...errorHeaders[status] ?? []]),
    content: {
      "application/json": {
        schema: refTo("Error"),
        examples: {
          ...answerExamples(own),
          ...Object.fromEntries(shared.map((code) => [code, { $ref: `#/components/examples/${code}` }]))
        }
      }
    },
    "x-error-codes": codes
  };
};
var sharedResponses = {
  Unauthorized: { status: 401, codes: ["missing_api_key", "invalid_api_key", "expired_api_key"] },
  MethodNotAllowed: { status: 405, codes: ["method_not_allowed"] },
  UnsupportedMediaType: { status: 415, codes: ["unsupported_media_type"] },
  InternalError: { status: 500, codes: ["internal"] },
  ReadFailed: { status: 500, codes: ["internal", "store_damaged"] },
  WriteFailed: { status: 500, codes: ["internal", "store_damaged", "outcome_unknown"] },
  Unavailable: { status: 503, codes: ["unavailable"] },
  StorageFull: { status: 507, codes: ["storage_full"] }
};
var headersTooLarge = {
  description: `The request line and the headers are larger than ${binaryBytes(requestHeadBytesMax)} together, or there are more than about 200 headers. This answer has no body and no \`X-Request-Id\`.`
};
var sharedResponseObjects = () => ({
  ...Object.fromEntries(Object.entries(sharedResponses).map(([name, { status, codes }]) => [name, errorResponse(status, codes)])),
  HeadersTooLarge: headersTooLarge
});
var errorResponseOrReference = (status, codes, examples) => {
  const same = Object.entries(sharedResponses).find(([, shared]) => shared.codes.join() === codes.join());
  return same === undefined ? errorResponse(status, codes, examples) : { $ref: `#/components/responses/${same[0]}` };
};
var codesOf2 = ({ operation, path, keyNeeded }) => {
  const names = pathParameters2(path);
  const codes = new Set([
    ...operation.codes,
    "method_not_allowed",
    ...names.length > 0 ? ["route_not_found"] : [],
    ...operation.body === undefined ? [] : bodyCodes,
    ...keyNeeded === undefined ? [] : accessCodes(keyNeeded, names.includes("db"))
  ]);
  return errorCodes.filter((code) => codes.has(code));
};
var responsesOf = (served, examples) => {
  const responses = {};
  for (const [status, answer] of Object.entries(served.operation.answers)) {
    responses[status] = successResponse(answer, examples, Number(status));
  }
  responses[431] = { $ref: "#/components/responses/HeadersTooLarge" };
  if (served.method === "OPTIONS")
    return responses;
  for (const [status, codes] of Map.groupBy(codesOf2(served), (code) => statusOf[code])) {
    if (served.method === "HEAD") {
      const names = [...commonHeaders2, ...errorHeaders[status] ?? []];
      const description = `Without a body: ${codes.map((code) => `\`${code}\``).join(", ")}.`;
      responses[status] = { description, headers: headerObjects(names) };
    } else
      responses[status] = errorResponseOrReference(status, codes, examples);
  }
  return responses;
};

// src/openapi/requests.ts
var known = parameters;
var targetOf = (path, given) => {
  const filled = path.replace(/:(\w+)/g, (_, name) => encodeURIComponent(String(given[name] ?? known[name].example)));
  const query = Object.entries(given).filter(([name]) => known[name]?.in === "query");
  if (query.length === 0)
    return filled;
  return `${filled}?${new URLSearchParams(query.map(([name, value]) => [name, String(value)]))}`;
};
var codeSample = (served, { summary, parameters: given = {}, body }) => {
  const names = (served.operation.parameters ?? []).map((name) => parameters[name]);
  const sent = names.filter(({ name, in: where }) => where === "header" && given[name] !== undefined);
  const source = curlLine({
    method: served.method,
    target: targetOf(served.path, given),
    headers: Object.fromEntries(sent.map(({ name }) => [name, String(given[name])])),
    body,
    withKey: served.keyNeeded !== undefined
  });
  return { lang: "Shell", label: summary, source };
};
var parameterObject = (name, examples) => {
  const parameter = known[name];
  const values = examples.filter(({ parameters: given = {} }) => given[parameter.name] !== undefined);
  if (values.length === 0)
    return parameterRef(name);
  const { example, ...rest } = parameter;
  const shown = parameter.in === "path" ? examples : values;
  return {
    ...rest,
    examples: Object.fromEntries(shown.map(({ name: key, parameters: given = {} }) => [key, { value: given[parameter.name] ?? example }]))
  };
};
var operationParameters = ({ operation, path }, examples) => [...pathParameters2(path), ...operation.parameters ?? []].map((name) => parameterObject(name, examples));
var requestBody = ({ operation }, examples) => {
  if (operation.body === undefined)
    return;
  const { schema, required, description } = operation.body;
  const shown = examples.filter(({ body, status }) => body !== undefined && !isRejection(status));
  const values = shown.map(({ name, summary, body }) => [name, { summary, value: body }]);
  return {
    description,
    required,
    content: { "application/json": { schema: refTo(schema), examples: Object.fromEntries(values) } }
  };
};

// src/openapi/document.ts
var security = {
  read: [{ secretKey: [] }, { publicKey: [] }],
  write: [{ secretKey: [] }],
  "manage-keys": [{ secretKey: [] }],
  operator: []
};
var nameAt = (served) => {
  const { id, operation, path } = served;
  const { summary, description } = operation;
  if (!path.endsWith("/:rangeKey"))
    return { operationId: id, summary, description };
  return { operationId: `${id}WithRangeKey`, summary: operation.summaryWithRangeKey ?? summary, description };
};
var operationObject = (served) => {
  const { operation, keyNeeded } = served;
  const examples = examplesAt(served);
  const own = operationParameters(served, examples);
  const body = requestBody(served, examples);
  return {
    ...nameAt(served),
    tags: [operation.tag],
    security: keyNeeded === undefined ? [] : security[keyNeeded],
    ...own.length > 0 && { parameters: own },
    ...body && { requestBody: body },
    responses: responsesOf(served, examples),
    "x-codeSamples": examples.map((example) => codeSample(served, example)),
    "x-sample-examples": examples.map(({ name }) => name)
  };
};
var methodOrder = ["GET", "HEAD", "POST", "PUT", "DELETE", "OPTIONS"];
var placesOf = (path, methods) => {
  const described = Object.entries(methods).filter(([, { operationId }]) => !isVerbAsKey(path, operationId));
  const places = described.map(([method, { operationId, keyNeeded }]) => servedOperation(operationId, method, path, keyNeeded));
  const get = methods.GET;
  if (get?.operationId === "getRecord" && !isVerbAsKey(path, "getRecord")) {
    places.push(servedOperation("headRecord", "HEAD", path, get.keyNeeded));
  }
  if (path === "/v1")
    places.push(servedOperation("preflight", "OPTIONS", path));
  return places.sort((a, b) => methodOrder.indexOf(a.method) - methodOrder.indexOf(b.method));
};
var templated = (path) => path.replace(/:(\w+)/g, "{$1}");
var pathItem = (places) => Object.fromEntries(places.map((served) => [served.method.toLowerCase(), operationObject(served)]));
var bearer = (prefix, description) => ({
  type: "http",
  scheme: "bearer",
  bearerFormat: `${prefix} and 38 letters and digits`,
  description
});
var referredTo = (kind, named, text) => Object.fromEntries(Object.entries(named).filter(([name]) => text.includes(`"#/components/${kind}/${name}"`)));
var allParameters = () => Object.fromEntries(Object.keys(parameters).map((name) => [parameterComponent(name), parameters[name]]));
var sharedExamples = () => Object.fromEntries(errorCodes.flatMap((code) => {
  const error = sharedErrors[code];
  return error === undefined ? [] : [[code, { summary: meanings[code], value: errorBody(code, error) }]];
}));
var makeDocument = (publicUrl = "/") => {
  const places = [
    ...Object.entries(routes).map(([path, methods]) => [path, placesOf(path, methods)]),
    ...Object.entries(openRoutes).map(([path, id]) => [
      path,
      [servedOperation(id, "GET", path)]
    ])
  ];
  const paths = Object.fromEntries(places.map(([path, there]) => [templated(path), pathItem(there)]));
  const responses = sharedResponseObjects();
  const text = JSON.stringify([paths, responses]);
  return {
    openapi: "3.1.0",
    info: {
      title: "Cubby",
      version: package_default.version,
      summary: "A schemaless document store: JSON records in tables, found by key, by recency and by declared indices.",
      description: introduction,
      license: { name: package_default.license, identifier: package_default.license }
    },
    servers: [{ url: publicUrl, description: "The server that sent this document." }],
    tags: Object.entries(tags).map(([name, description]) => ({ name, description })),
    paths,
    components: {
      schemas: schemas2,
      parameters: referredTo("parameters", allParameters(), text),
      headers: referredTo("headers", headers, text),
      responses,
      examples: sharedExamples(),
      securitySchemes: {
        secretKey: bearer("svc_live_", "Reads and writes. For servers only: rejected if a web page from another origin sends it."),
        publicKey: bearer("svc_pub_", "Reads records and tables. Safe in browsers.")
      }
    },
    "x-given": exampleStore.map(givenStep)
  };
};

// src/openapi/page/html.ts
class Html {
  text;
  constructor(text) {
    this.text = text;
  }
}
var escapeHtml = (text) => text.replaceAll("&", "&amp;").replaceAll("<", "&lt;").replaceAll(">", "&gt;").replaceAll('"', "&quot;");
var render = (part) => {
  if (part instanceof Html)
    return part.text;
  if (Array.isArray(part))
    return part.map(render).join("");
  return part === undefined ? "" : escapeHtml(String(part));
};
var html = (strings, ...parts) => new Html(strings.reduce((text, string, i) => text + render(parts[i - 1]) + string));

// src/openapi/page/markdown.ts
var codes = new Set(errorCodes);
var unbrokenCharactersMax = 28;
var code = (text) => {
  if (codes.has(text))
    return html`<a href="#error-${text}"><code>${text}</code></a>`;
  return text.length > unbrokenCharactersMax ? html`<code class="long">${text}</code>` : html`<code>${text}</code>`;
};
var inline = (text) => html`${text.split("`").map((part, i) => i % 2 === 1 ? code(part) : part)}`;
var block = (text) => {
  if (!text.startsWith("- "))
    return html`<p>${inline(text)}</p>`;
  return html`<ul>${text.split(`
`).map((line) => html`<li>${inline(line.slice(2))}</li>`)}</ul>`;
};
var markdown = (text) => html`${text.trim().split(`

`).map(block)}`;
var topicsOf = (text) => {
  const [lead, ...rest] = text.split(/^## /m);
  const topics = rest.map((part) => {
    const [title, ...lines] = part.split(`
`);
    return { id: title.toLowerCase().replaceAll(" ", "-"), title, text: lines.join(`
`) };
  });
  return { lead, topics };
};

// src/openapi/page/contents-view.ts
var plain2 = (id, title) => html`<li><a href="#${id}">${title}</a></li>`;
var titles = {
  listTables: "List tables",
  describeTable: "Show a table",
  createTable: "Create a table",
  deleteTable: "Delete a table",
  restoreTable: "Restore a table",
  putRecord: "Put a record",
  getRecord: "Get a record",
  headRecord: "Check a record",
  deleteRecord: "Delete a record",
  getRecordWithRangeKey: "Get, with range key",
  headRecordWithRangeKey: "Check, with range key",
  deleteRecordWithRangeKey: "Delete, with range key",
  queryRecords: "Query records",
  findRecords: "Get several records",
  applyBatch: "Batch",
  listApiKeys: "List API keys",
  describeOwnApiKey: "Describe the calling key",
  revokeApiKey: "Revoke an API key",
  preflight: "Preflight",
  checkHealth: "Is it alive?",
  checkReadiness: "Is it ready?",
  getDescription: "OpenAPI document",
  getDocsPage: "This page"
};
var operation = ({ method, operation: { operationId, summary } }) => html`
<li><a href="#${operationId}">${titles[operationId] ?? summary} <span class="method ${method}">${method.toUpperCase()}</span></a></li>`;
var group = (title, items) => html`<p class="title">${title}</p><ul>${items}</ul>`;
var contentsView = (document, entries) => html`
<nav id="contents" popover aria-label="Contents">
<button type="button" class="quiet close" popovertarget="contents" popovertargetaction="hide">Close</button>
${group("Overview", [plain2("top", "Start"), ...topicsOf(document.info.description).topics.map(({ id, title }) => plain2(id, title))])}
${document.tags.map(({ name }) => group(name, entries.filter((entry) => entry.operation.tags.includes(name)).map(operation)))}
${group("Reference", [plain2("error-codes", "Error codes"), plain2("schemas", "Schemas")])}
</nav>`;

// src/openapi/types.ts
var httpMethods = ["get", "head", "put", "post", "delete", "options"];

// src/openapi/page/resolve.ts
var resolve = (document, value) => {
  if (!("$ref" in value))
    return value;
  const [, , kind, name] = value.$ref.split("/");
  return document.components[kind][name];
};

// src/openapi/page/entries.ts
var entriesOf = (document) => Object.entries(document.paths).flatMap(([path, item]) => httpMethods.flatMap((method) => {
  const operation = item[method];
  if (operation === undefined || "x-same-as" in operation)
    return [];
  return [{ method, path, operation }];
}));
var parametersOf = (document, { path, operation }) => {
  const byName = new Map;
  const { parameters = [] } = document.paths[path];
  for (const value of [...parameters, ...operation.parameters ?? []]) {
    const parameter = resolve(document, value);
    byName.set(`${parameter.in} ${parameter.name}`, parameter);
  }
  return [...byName.values()].filter(({ name }) => name !== "X-Request-Id");
};
var samplesIn = (operation) => {
  const { "x-sample-examples": names = [] } = operation;
  const samples = operation["x-codeSamples"] ?? [];
  return samples.map(({ label, source, example }, i) => ({ example: example ?? names[i], label, curl: source }));
};

// src/openapi/page/errors-view.ts
var errorIn = (value) => {
  const { error } = value ?? {};
  return error?.code === undefined ? [] : [error];
};
var examplesByCode = (document) => {
  const shared = Object.values(document.components.examples);
  const own = entriesOf(document).flatMap(({ operation }) => Object.values(operation.responses).flatMap((response) => {
    const { content = {} } = resolve(document, response);
    return Object.values(content).flatMap(({ examples = {} }) => Object.values(examples));
  }));
  const errors = [...shared, ...own].flatMap(({ value }) => errorIn(value));
  return new Map(errors.reverse().map((error) => [error.code, error]));
};
var exampleView = (error) => {
  if (error === undefined)
    return html``;
  const hint = error.hint === undefined ? "" : html`<br>Hint: ${error.hint}`;
  return html`<p class="note">For example: ${error.message}${hint}</p>`;
};
var errorsView = (document) => {
  const examples = examplesByCode(document);
  return html`
<section class="topic" id="error-codes" data-group="Error codes"><h2><a href="#error-codes">Error codes</a></h2>
<dl class="fields">${errorCodes.map((name) => html`
<div id="error-${name}" data-find="error"><dt><code>${name}</code> <span class="type">${statusOf[name]}</span></dt><dd><p>${inline(meanings[name])}</p>${exampleView(examples.get(name))}</dd></div>`)}</dl></section>`;
};

// src/openapi/samples/python.ts
var printed = {
  json: "answer.json()",
  text: "answer.text",
  headers: "dict(answer.headers)"
};
var keyHeader2 = { Authorization: new Source(`f"Bearer {os.environ['CUBBY_KEY']}"`) };
var pythonSample = ({ method, target, headers, body, withKey }, shown) => {
  const sent = { ...withKey && keyHeader2, ...headers };
  const given = [`os.environ["CUBBY_URL"] + ${literal(target, python)}`];
  if (Object.keys(sent).length > 0)
    given.push(`headers=${literal(sent, python, 1, 8)}`);
  if (body !== undefined)
    given.push(`json=${literal(body, python, 1, 5)}`);
  const call = `requests.${method.toLowerCase()}`;
  const inline = `answer = ${call}(${given.join(", ")})`;
  const request = inline.length <= 72 && !inline.includes(`
`) ? inline : `answer = ${call}(
    ${given.join(`,
    `)},
)`;
  return `import os

import requests

${request}
print(answer.status_code, ${printed[shown]})`;
};

// src/openapi/samples/client-call.ts
var call2 = (object, method, given) => {
  const name = `${object}.${method}(`;
  const texts = given.map((value) => literal(value, typescript, 0, name.length + 14));
  return `${name}${texts.join(", ")})`;
};
var optionsOf = (query) => {
  const options = [...query].map(([name, text]) => [name, /^(\d+|true|false)$/.test(text) ? new Source(text) : text]);
  return options.length === 0 ? [] : [Object.fromEntries(options)];
};
var writeOptions = (headers) => {
  const options = {};
  for (const [name, value] of Object.entries(headers)) {
    if (name === "If-Match")
      options.ifMatch = value === "*" ? value : Number(value.replaceAll('"', ""));
    else if (name === "If-None-Match" && value === "*")
      options.ifAbsent = true;
    else if (name === "Prefer")
      options.minimal = true;
    else
      return;
  }
  return Object.keys(options).length === 0 ? [] : [options];
};
var batchOperation = ({ ifUpdatedAt, ...operation }) => {
  if (ifUpdatedAt === undefined)
    return operation;
  return ifUpdatedAt === null ? { ...operation, ifAbsent: true } : { ...operation, ifMatch: ifUpdatedAt };
};
var keyOf2 = (hashKey, rangeKey) => rangeKey === undefined ? hashKey : { hashKey, rangeKey };
var identifier = (table) => /^[a-z][a-z0-9_]*$/.test(table) ? table : "table";
var bodyOf2 = ({ body }) => body === undefined ? [] : [body];
var tablesCall = (request, tables, table, verb) => {
  const made = (method, given = []) => ({
    setup: "",
    text: call2(tables, method, [table, ...given]),
    result: "table"
  });
  if (request.method === "GET")
    return made("describe");
  if (request.method === "DELETE")
    return made("drop");
  if (request.method !== "POST")
    return;
  return made(verb ?? "create", bodyOf2(request));
};
var recordsCall = (request, db, segments) => {
  const [table, first, second] = segments;
  const object = identifier(table);
  const setup = `const ${object} = cubby.db(${literal(db, typescript)}).table(${literal(table, typescript)})
`;
  const made = (method, given, result) => ({
    setup,
    text: call2(object, method, given),
    result
  });
  const { method, headers, body } = request;
  const options = writeOptions(headers);
  if (options === undefined)
    return;
  if (method === "PUT")
    return made("save", [body, ...options], "record");
  if (method === "POST" && first === "query") {
    const { select, ...query } = body;
    return select === "count" ? made("count", [query], "count") : made("query", [body], "page");
  }
  if (method === "POST" && first === "find") {
    const { keys } = body;
    return made("find", [keys.map(({ hashKey, rangeKey }) => keyOf2(hashKey, rangeKey))], "records");
  }
  if (method === "POST" && first === "batch") {
    const { operations } = body;
    return made("batch", [operations.map(batchOperation)], "done");
  }
  if (method === "GET" && options.length === 0)
    return made("findOne", [keyOf2(first, second)], "record");
  if (method === "DELETE")
    return made("remove", [keyOf2(first, second), ...options], "done");
  return;
};
var keysCall = (request, query, id) => {
  const made = (method, given, result) => ({
    setup: "",
    text: call2("cubby.keys", method, given),
    result
  });
  const { method } = request;
  if (method === "GET" && id === "self")
    return made("self", [], "key");
  if (method === "GET" && id === undefined)
    return made("list", optionsOf(query), "page");
  if (method === "POST" && id === undefined)
    return made("create", bodyOf2(request), "created");
  return method === "DELETE" && id !== "self" ? made("revoke", [id], "revoked") : undefined;
};
var clientCall = (request) => {
  const { pathname, searchParams: query } = new URL(request.target, "http://localhost");
  const [first, ...segments] = pathname.slice(1).split("/").map(decodeURIComponent);
  if (first === "api" && segments[0] === "keys")
    return keysCall(request, query, segments[1]);
  if (first !== "v1")
    return;
  const [db, table, third] = segments;
  if (db === undefined)
    return { setup: "", text: call2("cubby", "databases", optionsOf(query)), result: "page" };
  const tables = `cubby.db(${literal(db, typescript)}).tables`;
  if (table === undefined)
    return { setup: "", text: call2(tables, "list", optionsOf(query)), result: "page" };
  if (third === undefined && request.method !== "PUT")
    return tablesCall(request, tables, table);
  if (request.method === "POST" && third === "restore")
    return tablesCall(request, tables, table, "restore");
  return recordsCall(request, db, segments.slice(1));
};

// src/openapi/samples/typescript.ts
var printed2 = {
  json: "await answer.json()",
  text: "await answer.text()",
  headers: "Object.fromEntries(answer.headers)"
};
var fetchSample = ({ method, target, headers, body, withKey }, shown) => {
  const sent = {
    ...withKey && { Authorization: new Source(`\`Bearer \${process.env.CUBBY_KEY}\``) },
    ...body !== undefined && { "Content-Type": "application/json" },
    ...headers
  };
  const options = {
    ...method !== "GET" && { method },
    ...Object.keys(sent).length > 0 && { headers: sent },
    ...body !== undefined && { body: new Source(`JSON.stringify(${literal(body, typescript, 1, 22)})`) }
  };
  const url = `\`\${process.env.CUBBY_URL}${target.replaceAll("`", "%60")}\``;
  const given = Object.keys(options).length === 0 ? "" : `, ${multiLine(options)}`;
  return `const answer = await fetch(${url}${given})
console.log(answer.status, ${printed2[shown]})`;
};
var multiLine = (options) => {
  const lines = Object.entries(options).map(([name, value]) => {
    return `  ${name}: ${literal(value, typescript, 1, name.length + 2)},`;
  });
  return `{
${lines.join(`
`)}
}`;
};
var clientSample = (setup, result, call) => `import { Cubby } from '@cubbydb/client'

const cubby = new Cubby({
  url: process.env.CUBBY_URL!,
  key: process.env.CUBBY_KEY!,
})
${setup}
const ${result} = await ${call}
console.log(${result})`;
var sentByClient = (status) => status < 300 || [404, 409, 412].includes(status);
var typescriptSample = (request, status, shown) => {
  const call = shown === "json" && request.withKey && sentByClient(status) ? clientCall(request) : undefined;
  if (call === undefined)
    return fetchSample(request, shown);
  return clientSample(call.setup, call.result, call.text);
};

// src/openapi/samples/sample.ts
var languages = { curl: "curl", typescript: "TypeScript", python: "Python" };
var samplesOf = (curl, status, shown) => {
  const request = parseCurlLine(curl);
  return { curl, typescript: typescriptSample(request, status, shown), python: pythonSample(request, shown) };
};

// src/openapi/page/example-view.ts
var answerOf = (document, operation, name) => {
  for (const [status, described] of Object.entries(operation.responses)) {
    const response = resolve(document, described);
    const body = Object.values(response.content ?? {})[0]?.examples?.[name];
    const shown = Object.entries(response.headers ?? {}).flatMap(([header, value]) => {
      const example = resolve(document, value).examples?.[name];
      return example === undefined ? [] : [[header, example]];
    });
    if (body === undefined && shown.length === 0)
      continue;
    const given = [body, ...shown.map(([, example]) => example)].flatMap((example) => example?.["x-given"] ?? []);
    const headers = shown.map(([header, { value }]) => [header, String(value)]);
    return { status: Number(status), headers, value: body?.value, given };
  }
  throw new Error(`no answer of ${operation.operationId} has the example ${name}`);
};
var shownOf = ({ value }) => {
  if (value === undefined)
    return "headers";
  return typeof value === "string" ? "text" : "json";
};
var samplesFor = (document, operation, sample) => {
  const answer = answerOf(document, operation, sample.example);
  return samplesOf(sample.curl, answer.status, shownOf(answer));
};
var givenNote = (steps) => {
  if (steps.length === 0)
    return html``;
  const shown = steps.map(({ method, path }, i) => [i === 0 ? "" : ", then ", html`<code>${method} ${path}</code>`]);
  return html`<p class="given">After ${shown}.</p>`;
};
var codeViews = (sources) => html`${Object.keys(languages).map((language) => html`
<div class="code" data-language="${language}"><p class="label">${languages[language]}</p><pre data-syntax="${language}">${sources[language]}</pre></div>`)}`;
var statusView = (status) => html`<span class="status ${status < 400 ? "ok" : "bad"}">${status}</span>`;
var answerView = ({ status, headers, value }) => {
  const lines = headers.map(([name, header]) => `${name}: ${header}
`).join("");
  const body = typeof value === "string" ? value : value === undefined ? "" : literal(value, json);
  const text = [lines, body].filter((part) => part !== "").join(`
`);
  const shown = text === "" ? html`<p class="note">No body.</p>` : html`<pre data-syntax="json">${text}</pre>`;
  return html`<div class="answer"><p class="label">Answer ${statusView(status)}</p>${shown}</div>`;
};
var exampleView2 = (document, operation, sample, first) => {
  const answer = answerOf(document, operation, sample.example);
  const content = html`<summary>${sample.label} ${statusView(answer.status)}</summary>
<div class="request">${givenNote(answer.given)}${codeViews(samplesFor(document, operation, sample))}</div>
${answerView(answer)}`;
  const name = `${operation.operationId}-examples`;
  return first ? html`<details name="${name}" data-example="${sample.example}" data-find="example" open>${content}</details>` : html`<details name="${name}" data-example="${sample.example}" data-find="example">${content}</details>`;
};
var examplesView = (document, operation) => html`
<div class="examples" data-operation="${operation.operationId}">
${samplesIn(operation).map((sample, i) => exampleView2(document, operation, sample, i === 0))}
</div>`;

// src/openapi/page/schema-view.ts
var schemaName = (schema) => schema.$ref?.split("/").at(-1);
var link = (name) => html`<a href="#schema-${name}">${name}</a>`;
var joined = (parts, between) => html`${parts.map((part, i) => i === 0 ? part : [between, part])}`;
var typeOf = (schema) => {
  const name = schemaName(schema);
  if (name !== undefined)
    return link(name);
  const alternatives = schema.oneOf ?? schema.anyOf;
  if (alternatives !== undefined)
    return joined(alternatives.map(typeOf), " or ");
  if (schema.const !== undefined)
    return html`<code>${JSON.stringify(schema.const)}</code>`;
  if (schema.enum !== undefined) {
    return joined(schema.enum.map((value) => html`<code>${JSON.stringify(value)}</code>`), " or ");
  }
  const types = [schema.type ?? "any"].flat();
  const ofItems = schema.items === undefined ? "" : html` of ${typeOf(schema.items)}`;
  return html`${types.map((type, i) => [i === 0 ? "" : " or ", type, type === "array" ? ofItems : ""])}`;
};
var number2 = (value) => value.toLocaleString("en-US");
var bounds = (low, high, unit) => {
  if (low === undefined && high === undefined)
    return [];
  const suffix = unit === "" ? "" : ` ${unit}`;
  if (low !== undefined && low === high)
    return [`exactly ${number2(low)}${suffix}`];
  if (high === undefined)
    return [`at least ${number2(low)}${suffix}`];
  return [low === undefined ? `at most ${number2(high)}${suffix}` : `${number2(low)} to ${number2(high)}${suffix}`];
};
var constraintsOf = (schema) => [
  ...bounds(schema.minLength, schema.maxLength, "characters"),
  ...bounds(schema.minItems, schema.maxItems, "items"),
  ...bounds(schema.minProperties, schema.maxProperties, "member"),
  ...bounds(schema.minimum, schema.maximum, ""),
  ...schema.not?.enum === undefined ? [] : [`not ${schema.not.enum.map((value) => `\`${value}\``).join(" or ")}`],
  ...schema.default === undefined ? [] : [`\`${JSON.stringify(schema.default)}\` when absent`]
];
var patternOf = ({ pattern }) => pattern === undefined ? [] : [`matches \`${pattern}\``];
var typeView = (schema, withPattern) => {
  const constraints = [...constraintsOf(schema), ...withPattern ? patternOf(schema) : []];
  const facts = constraints.length === 0 ? "" : html`, ${inline(constraints.join(", "))}`;
  return html`<span class="type">${typeOf(schema)}${facts}</span>`;
};
var fieldView = ({ id, name, schema, required, description, place, nested }) => html`
<div id="${id}" data-find="field"><dt><code>${name}</code>${place === undefined ? "" : html` <span class="place">${place}</span>`} ${typeView(schema, id.startsWith("schema-") || description === undefined)}${required ? html` <span class="required">required</span>` : ""}</dt><dd>${description === undefined ? "" : html`<p>${inline(description)}</p>`}${nested}</dd></div>`;
var descriptionOf = (document, schema) => schema.description ?? document.components.schemas[schemaName(schema) ?? ""]?.description;
var foldedFields = (document, schema, prefix) => {
  const name = schemaName(schema);
  const whole = document.components.schemas[name ?? ""];
  if (name === undefined || whole?.properties === undefined)
    return;
  return html`<details class="nested"><summary>Fields of ${name}</summary>${fields(document, whole, prefix)}</details>`;
};
var fields = (document, schema, prefix) => {
  const properties = Object.entries(schema.properties ?? {});
  if (properties.length === 0)
    return html``;
  const rows = properties.map(([name, property]) => {
    const id = `${prefix}-${name}`;
    const folded = prefix.startsWith("schema-") ? undefined : foldedFields(document, property, id);
    const nested = property.properties === undefined ? folded : fields(document, property, id);
    const required = schema.required?.includes(name) ?? false;
    return fieldView({ id, name, schema: property, required, description: descriptionOf(document, property), nested });
  });
  return html`<dl class="fields">${rows}</dl>`;
};
var alternativesView = (document, alternatives, prefix) => {
  const views = alternatives.map((alternative) => {
    const name = schemaName(alternative);
    const whole = document.components.schemas[name ?? ""];
    if (name === undefined || whole === undefined)
      return html`<p>${typeView(alternative, true)}</p>`;
    return html`<div class="alternative" data-find="schema"><p class="name">${link(name)}</p>
${whole.description === undefined ? "" : html`<p>${inline(whole.description)}</p>`}${schemaView(document, name, `${prefix}-${name}`)}</div>`;
  });
  return html`${views}`;
};
var schemaView = (document, name, prefix) => {
  const schema = document.components.schemas[name];
  const alternatives = schema.oneOf ?? schema.anyOf ?? [];
  if (alternatives.some(({ $ref }) => $ref !== undefined))
    return alternativesView(document, alternatives, prefix);
  return schema.properties === undefined ? html`<p>${typeView(schema, true)}</p>` : fields(document, schema, prefix);
};

// src/openapi/page/operation-view.ts
var keyOf3 = ({ security }) => {
  if (security.length === 0)
    return "no key";
  return security.length === 1 ? "secret key" : "secret or public key";
};
var parameterList = (document, entry) => {
  const parameters = parametersOf(document, entry);
  if (parameters.length === 0)
    return html``;
  const prefix = entry.operation.operationId;
  const rows = parameters.map(({ name, in: place, schema, required = false, description }) => fieldView({ id: `${prefix}-${name}`, name, schema, required, description, place }));
  return html`<h4>Parameters</h4><dl class="fields">${rows}</dl>`;
};
var bodyView = (document, { operation }) => {
  if (operation.requestBody === undefined)
    return html``;
  const { description, required, content } = operation.requestBody;
  const { schema } = content["application/json"];
  const name = schemaName(schema);
  const prefix = `${operation.operationId}-body`;
  const properties = Object.values(document.components.schemas[name].properties ?? {});
  const listed = properties.flatMap(({ items }) => items?.oneOf ?? items?.anyOf ?? []);
  return html`<h4>Body</h4>
<p class="note">${typeOf(schema)}${required ? "" : ", or empty"}. ${description}</p>
${schemaView(document, name, prefix)}${alternativesView(document, listed, prefix)}`;
};
var everywhere = ["X-Request-Id", "Cache-Control", "Access-Control-Allow-Origin", "Access-Control-Expose-Headers"];
var headerNote = (response) => {
  const names = Object.keys(response.headers ?? {}).filter((name) => !everywhere.includes(name));
  if (names.length === 0)
    return html``;
  return html`<span class="type">with ${names.map((name, i) => [i === 0 ? "" : ", ", html`<code>${name}</code>`])}</span>`;
};
var errorCodesOf = (response) => {
  const narrowed = response.content?.["application/json"]?.schema.allOf?.[1];
  const { "x-error-codes": named } = response;
  return named ?? (narrowed?.properties?.error?.properties?.code?.enum ?? []);
};
var answerView2 = (document, status, value) => {
  const response = resolve(document, value);
  const codes = errorCodesOf(response);
  const schema = Object.values(response.content ?? {})[0]?.schema;
  const what = codes.length > 0 ? html`<p class="codes">${codes.map((name) => html`<span>${code(name)}</span> `)}</p>` : html`<p>${inline(response.description)} ${schema === undefined ? "" : typeOf(schema)}</p>`;
  return html`<div><dt>${status}</dt><dd>${what}${headerNote(response)}</dd></div>`;
};
var answerList = (document, { operation }) => html`<h4>Answers</h4>
<dl class="answers">${Object.entries(operation.responses).filter(([status]) => status !== "431").map(([status, value]) => answerView2(document, status, value))}</dl>`;
var pathView = (path) => {
  const segments = path.slice(1).split("/");
  const view = (segment) => segment.startsWith("{") ? html`<var>${segment}</var>` : segment;
  return html`<code>${segments.map((segment) => [html`<wbr>/`, view(segment)])}</code>`;
};
var operationView = (document, entry) => {
  const { method, path, operation } = entry;
  return html`
<section class="operation columns" id="${operation.operationId}" data-find="operation" data-target="${method.toUpperCase()} ${path}">
<div class="text">
<h3><a href="#${operation.operationId}">${operation.summary}</a></h3>
<p class="route"><span class="method ${method}">${method.toUpperCase()}</span> ${pathView(path)} <span class="key">${keyOf3(operation)}</span></p>
${markdown(operation.description)}
</div>
${examplesView(document, operation)}
<div class="details">
${parameterList(document, entry)}
${bodyView(document, entry)}
${answerList(document, entry)}
</div>
</section>`;
};

// src/openapi/page/browser/contents.ts
var contents_default = `import { all } from './dom.ts'

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
`;

// src/openapi/page/browser/copy.ts
var copy_default = `import { all, create } from './dom.ts'

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
`;

// src/openapi/page/browser/dom.ts
var dom_default = `type Child = Node | string

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
`;

// src/openapi/page/browser/examples.ts
var examples_default = `import { all, create } from './dom.ts'

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
`;

// src/openapi/page/browser/highlight.ts
var highlight_default = `import { all } from './dom.ts'

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
`;

// src/openapi/page/browser/json-layout.ts
var json_layout_default = `/**
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
`;

// src/openapi/page/browser/main.ts
var main_default = `import { startContents } from './contents.ts'
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
`;

// src/openapi/page/browser/reveal.ts
var reveal_default = `/** Shows a place of the page: opens what it is folded into, scrolls to it and marks it for a moment. */
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
`;

// src/openapi/page/browser/scrollers.ts
var scrollers_default = `import { all } from './dom.ts'
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
`;

// src/openapi/page/browser/search.ts
var search_default = `import { all, create } from './dom.ts'
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
`;

// src/openapi/page/browser/search-index.ts
var search_index_default = `import { all } from './dom.ts'

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
`;

// src/openapi/page/browser/send.ts
var send_default = `import { serverUrl } from './dom.ts'
import type { TryItOperation } from './try-it-data.ts'

export interface FormValues {
  /** Of parameters, by name. An empty one is not sent. */
  parameters: Record<string, string>
  body: string
  key: string
}

export interface Received {
  status: number
  statusText: string
  headers: [string, string][]
  text: string
  milliseconds: number
  bytes: number
}

/** Browsers drop the segments \`.\` and \`..\`, and some proxies an empty one. The request would name something else. */
export const isSegment = (value: string): boolean => !['', '.', '..'].includes(value)

/** The path and query string that the form asks for. */
export const targetOf = (operation: TryItOperation, values: Record<string, string>): string => {
  const path = operation.path.replace(/\\{(\\w+)\\}/g, (_, name: string) => encodeURIComponent(values[name] ?? ''))
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
  if (operation.hasBody && body.trim() !== '') headers.set('Content-Type', 'application/json')
  return headers
}

export const send = async (operation: TryItOperation, values: FormValues, signal: AbortSignal): Promise<Received> => {
  const start = performance.now()
  const response = await fetch(serverUrl() + targetOf(operation, values.parameters), {
    method: operation.method,
    headers: headersOf(operation, values),
    ...(operation.hasBody && values.body.trim() !== '' && { body: values.body }),
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
    text: new TextDecoder().decode(bytes),
    milliseconds: performance.now() - start,
    bytes: bytes.byteLength,
  }
}
`;

// src/openapi/page/browser/try-it.ts
var try_it_default = `import { all, create, serverUrl } from './dom.ts'
import { isSegment, send, targetOf } from './send.ts'
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
    if (operation.hasBody) rows.push(labelled('Body', 'JSON', this.#body))
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
      if (place === 'path' && !isSegment(input.value))
        return [\`\${name} is "\${input.value}", which no path can have.\`, input]
    }
    if (this.#operation!.needsKey && /[^\\x21-\\x7e]/.test(this.#key.value.trim())) {
      return ['The API key has characters that no key has.', this.#key]
    }
    return undefined
  }

  /** What is wrong with the body. It is sent all the same: the answer to invalid JSON is worth seeing too. */
  #bodyFault(): string {
    if (!this.#operation!.hasBody || this.#body.value.trim() === '') return ''
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
    const values = { parameters: this.#values(), body: this.#body.value, key: this.#key.value.trim() }
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
`;

// src/openapi/page/browser/try-it-answer.ts
var try_it_answer_default = `import { create } from './dom.ts'
import { highlightNow } from './highlight.ts'
import { indentJson } from './json-layout.ts'
import { markScrollers } from './scrollers.ts'
import type { Received } from './send.ts'

/** Longer text would make the page slow; the rest is left out. */
const shownCharactersMax = 200_000

const bodyView = (text: string): HTMLElement => {
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
`;

// src/openapi/page/style.css
var style_default = `/* biome-ignore-all lint/style/noDescendingSpecificity: rules are ordered by the parts of the page. */
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
`;

// src/openapi/page/sources.js
var scriptSources = {
  "contents.ts": contents_default,
  "copy.ts": copy_default,
  "dom.ts": dom_default,
  "examples.ts": examples_default,
  "highlight.ts": highlight_default,
  "json-layout.ts": json_layout_default,
  "main.ts": main_default,
  "reveal.ts": reveal_default,
  "scrollers.ts": scrollers_default,
  "search.ts": search_default,
  "search-index.ts": search_index_default,
  "send.ts": send_default,
  "try-it.ts": try_it_default,
  "try-it-answer.ts": try_it_answer_default
};

// src/openapi/page/script.ts
var folder = "/cubby-docs";
var bundleScript = async () => {
  const files = Object.fromEntries(Object.entries(scriptSources).map(([name, text]) => [`${folder}/${name}`, text]));
  const { outputs } = await Bun.build({
    entrypoints: [`${folder}/main.ts`],
    files,
    target: "browser",
    format: "iife",
    minify: true
  });
  const text = await outputs[0].text();
  if (text.includes("</script"))
    throw new Error("the script of the page contains </script");
  return text.trim();
};

// src/openapi/page/try-it-data.ts
var pathValues = (template, path) => {
  const given = path.split("/");
  const pairs = template.split("/").flatMap((segment, i) => segment.startsWith("{") ? [[segment.slice(1, -1), decodeURIComponent(given[i])]] : []);
  return Object.fromEntries(pairs);
};
var exampleOf = (template, label, curl) => {
  const { target, headers, body } = parseCurlLine(curl);
  const { pathname, searchParams } = new URL(target, "http://localhost");
  const values = { ...pathValues(template, pathname), ...Object.fromEntries(searchParams), ...headers };
  return { label, values, body: body === undefined ? "" : literal(body, json) };
};
var effectOf = ({ method, operation: { security } }) => {
  if (method === "get" || method === "head" || security.some((key) => ("publicKey" in key)))
    return "reads";
  return method === "delete" ? "deletes" : "changes";
};
var operationData = (document, entry) => {
  const { method, path, operation } = entry;
  return {
    title: operation.summary,
    method: method.toUpperCase(),
    path,
    needsKey: operation.security.length > 0,
    effect: effectOf(entry),
    hasBody: operation.requestBody !== undefined,
    parameters: parametersOf(document, entry).map(({ name, in: place, required = false }) => ({
      name,
      place,
      required
    })),
    examples: Object.fromEntries(samplesIn(operation).map(({ example, label, curl }) => [example, exampleOf(path, label, curl)]))
  };
};
var tryItJson = (document, entries) => {
  const shown = entries.filter(({ method }) => method !== "options");
  const data = Object.fromEntries(shown.map((entry) => [entry.operation.operationId, operationData(document, entry)]));
  return JSON.stringify(data).replaceAll("<", "\\u003c");
};

// src/openapi/page/render.ts
var mark = new Html('<svg class="mark" viewBox="0 0 16 16" width="20" height="20" aria-hidden="true"><rect width="16" height="16" rx="3.5" fill="currentColor"/><path d="M11 5.6A4 4 0 1 0 11 10.4" fill="none" stroke="var(--on-accent)" stroke-width="2"/></svg>');
var bar = ({ info }) => html`
<header class="bar">
<button type="button" class="quiet menu" popovertarget="contents">Contents</button>
<a class="brand" href="#top">${mark}<b>${info.title}</b> <span>HTTP API ${info.version}</span></a>
<button type="button" class="open-search" data-search hidden aria-keyshortcuts="/ Control+K">Search <kbd>/</kbd></button>
<a class="quiet-link" href="openapi.json">OpenAPI</a>
</header>`;
var baseOf = ({ servers }) => servers[0].url === "/" ? "http://127.0.0.1:4600" : servers[0].url;
var setup = (base) => ({
  curl: `export CUBBY_URL=${base}
export CUBBY_KEY=svc_live_\u2026

curl "$CUBBY_URL/v1" \\
  -H "Authorization: Bearer $CUBBY_KEY"`,
  typescript: `import { Cubby } from '@cubbydb/client'

const cubby = new Cubby({
  url: process.env.CUBBY_URL!,
  key: process.env.CUBBY_KEY!,
})
console.log(await cubby.databases())`,
  python: `import os

import requests

answer = requests.get(
    os.environ["CUBBY_URL"] + "/v1",
    headers={"Authorization": f"Bearer {os.environ['CUBBY_KEY']}"},
)
print(answer.json())`
});
var overview = (document) => {
  const { info } = document;
  const base = baseOf(document);
  return html`
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
</section>`;
};
var headersView = (label, lines) => html`<div class="request"><p class="label">${label}</p><pre>${lines}</pre></div>`;
var illustrations = ({ components }) => ({
  "api-keys": headersView("Request with a key", "Authorization: Bearer svc_live_\u2026"),
  answers: headersView("Headers of an answer", `Content-Type: application/json
Cache-Control: private, no-cache
X-Request-Id: HJ4c9fQ2-1z`),
  errors: answerView({ status: 400, headers: [], given: [], value: components.examples.invalid_request.value }),
  "versions-of-a-record": headersView("Answer, then a write that needs this version", `ETag: "1767780000000"

If-Match: "1767780000000"`)
});
var topics = (document) => {
  const shown = illustrations(document);
  return topicsOf(document.info.description).topics.map(({ id, title, text }) => html`
<section class="columns" id="${id}" data-find="topic"><div class="topic"><h2><a href="#${id}">${title}</a></h2>
${markdown(text)}</div>${shown[id] === undefined ? "" : html`<div class="beside">${shown[id]}</div>`}</section>`);
};
var schemaList = (document) => html`
<section class="topic" id="schemas" data-group="Schemas"><h2><a href="#schemas">Schemas</a></h2>
<p>Requests must not have other members than these; answers may have more in later versions.</p>
${Object.entries(document.components.schemas).map(([name, schema]) => html`
<section class="schema" id="schema-${name}" data-find="schema"><h3><a href="#schema-${name}">${name}</a></h3>
${schema.description === undefined ? "" : html`<p>${inline(schema.description)}</p>`}
${schemaView(document, name, `schema-${name}`)}</section>`)}</section>`;
var group2 = (document, entries, name, description) => html`
<section class="group" data-group="${name}"><h2>${name}</h2><p>${inline(description)}</p>
${entries.filter(({ operation }) => operation.tags.includes(name)).map((entry) => operationView(document, entry))}
</section>`;
var icon = "data:image/svg+xml,%3Csvg xmlns='http://www.w3.org/2000/svg' viewBox='0 0 16 16'%3E%3Crect width='16' height='16' rx='3' fill='%230a6b66'/%3E%3Cpath d='M11 5.6A4 4 0 1 0 11 10.4' fill='none' stroke='white' stroke-width='2'/%3E%3C/svg%3E";
var hashOf = (text) => `'sha256-${new Bun.CryptoHasher("sha256").update(text).digest("base64")}'`;
var policyFor = (script) => [
  "default-src 'none'",
  `style-src ${hashOf(style_default)}`,
  `script-src ${hashOf(script)}`,
  "connect-src 'self'",
  "img-src data:",
  "base-uri 'none'",
  "form-action 'none'",
  "frame-ancestors 'none'"
].join("; ");
var renderPage = async (document) => {
  const entries = entriesOf(document);
  const script = await bundleScript();
  const { info, tags } = document;
  const page = html`<!doctype html>
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
${contentsView(document, entries)}
<main id="main" tabindex="-1">
${overview(document)}
${topics(document)}
${tags.map(({ name, description }) => group2(document, entries, name, description))}
${errorsView(document)}
${schemaList(document)}
</main>
</div>
<script type="application/json" id="operations">${new Html(tryItJson(document, entries))}</script>
<script>${new Html(script)}</script>
</body>
</html>
`;
  return { html: page.text, contentSecurityPolicy: policyFor(script) };
};

// src/openapi/pages-thread.ts
var reply = (message) => self.postMessage(message);
var bytesOf2 = (text, headers) => {
  const body = new TextEncoder().encode(text);
  const version = new Bun.CryptoHasher("sha256").update(body).digest("base64url").slice(0, 22);
  return { body, gzipped: Bun.gzipSync(body, { level: 9 }), version, headers };
};
var make = async (publicUrl) => {
  const document = makeDocument(publicUrl);
  reply({ document: bytesOf2(JSON.stringify(document), { "Content-Type": "application/json" }) });
  const { html, contentSecurityPolicy } = await renderPage(document);
  const headers = {
    "Content-Type": "text/html; charset=utf-8",
    "Content-Security-Policy": contentSecurityPolicy,
    "Referrer-Policy": "no-referrer"
  };
  reply({ docs: bytesOf2(html, headers) });
};
self.onmessage = ({ data: { publicUrl } }) => {
  make(publicUrl).catch((error) => reply({ fault: String(error) }));
};
