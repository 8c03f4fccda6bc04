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
var masked = (text) => text === undefined ? undefined : maskApiKeys(text), CubbyError;
var init_errors = __esm(() => {
  init_hint();
  CubbyError = class CubbyError extends Error {
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
      return new CubbyError(this.code, this.message, {
        field: this.field === undefined ? prefix : `${prefix}.${this.field}`,
        hint: this.hint
      });
    }
  };
});

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
    return new CubbyError("invalid_json", `${what} is not valid JSON: ${reason}.`);
  return new CubbyError("invalid_json", `The body is not valid JSON: ${reason}.`, {
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
    throw new CubbyError("invalid_request", `${field} appears twice in the body.`, {
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

// src/core/text/iso-date-time.ts
var pattern, daysInMonth = (year, month) => {
  if (month === 2)
    return year % 4 === 0 && (year % 100 !== 0 || year % 400 === 0) ? 29 : 28;
  return month === 4 || month === 6 || month === 9 || month === 11 ? 30 : 31;
}, parseIsoDateTime = (text) => {
  if (text.length < 20 || text.length > 35 || text.charCodeAt(10) !== 84)
    return;
  const match = pattern.exec(text);
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
  pattern = /^(\d{4})-(\d\d)-(\d\d)T(\d\d):(\d\d):(\d\d)(?:\.(\d{1,9}))?(?:Z|([+-])(\d\d):(\d\d))$/;
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
var slots, refuse = (field, message, hint) => {
  throw new CubbyError("invalid_index", `${field} ${message}`, { field, hint });
}, parseFieldName = (value, field) => {
  if (typeof value !== "string")
    return refuse(field, `is ${describeValue(value)}; it takes the name of a field in data.`);
  const characters = value.length > indexFieldCharactersMax ? [...value].length : value.length;
  if (characters < 1 || characters > indexFieldCharactersMax) {
    return refuse(field, `has ${characters} characters; it takes 1 to ${indexFieldCharactersMax}.`);
  }
  return value;
}, parseIndices = (value) => {
  if (value === undefined)
    return {};
  if (typeof value !== "object" || value === null || Array.isArray(value)) {
    return refuse("indices", `is ${describeValue(value)}; it takes an object keyed by slot, i1 to i5.`);
  }
  const declared = value;
  for (const name in declared) {
    if (!slots.includes(name)) {
      refuse(`indices.${name.slice(0, 80).toWellFormed()}`, "is not a slot.", "Slots are i1, i2, i3, i4 and i5.");
    }
  }
  const indices = {};
  for (const slot of slots) {
    if (!Object.hasOwn(declared, slot))
      continue;
    const field = `indices.${slot}`;
    const declaration = declared[slot];
    if (typeof declaration !== "object" || declaration === null || Array.isArray(declaration)) {
      refuse(field, `is ${describeValue(declaration)}; it takes { "hashField": \u2026, "rangeField"?: \u2026 }.`);
    }
    const members = declaration;
    for (const name in members) {
      if (name === "hashField" || name === "rangeField")
        continue;
      refuse(`${field}.${name.slice(0, 80).toWellFormed()}`, "is not a field of an index.", "Known fields: hashField, rangeField.");
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
    throw new CubbyError("invalid_index_value", `${field} is ${fault}; index ${slot} takes a string, number or boolean.`, {
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

// src/engines/sqlite/write/command.ts
var makesCachesStale = ({ kind }) => kind === "deleteTable" || kind === "revokeApiKey", entryCount, conditionCode = (condition) => condition === undefined ? 0 : condition === "exists" ? 1 : condition === "absent" ? 2 : 3, decodeCondition = (code, version) => code === 0 ? undefined : code === 1 ? "exists" : code === 2 ? "absent" : { version }, otherCommand = -1, encodeGroup = (commands) => {
  const numbers = [];
  let texts = "";
  const push = (text) => {
    numbers.push(text === null ? null : text.length);
    if (text !== null)
      texts += text;
  };
  for (const command of commands) {
    if (command.kind !== "write") {
      numbers.push(otherCommand);
      push(JSON.stringify(command));
      continue;
    }
    const { fence, operations } = command;
    numbers.push(operations.length, fence.stamp, fence.keySeq, fence.tableId, command.nowMs);
    for (const operation of operations) {
      const { condition } = operation;
      numbers.push(conditionCode(condition), typeof condition === "object" ? condition.version : 0);
      push(operation.hashKey);
      push(operation.rangeKey);
      if (operation.op === "delete")
        push(null);
      else {
        push(operation.data);
        numbers.push(operation.ttlSeconds, operation.updatedAtMs ?? null);
        for (let i = 0;i < entryCount; i++)
          push(operation.entries[i]);
      }
    }
  }
  return `${JSON.stringify(numbers)}
${texts}`;
}, decodeGroup = (group) => {
  const lineEnd = group.indexOf(`
`);
  const numbers = JSON.parse(group.slice(0, lineEnd));
  let at = 0;
  let textAt = lineEnd + 1;
  const next = () => numbers[at++];
  const nextText = () => {
    const length = numbers[at++];
    if (length === null)
      return null;
    textAt += length;
    return group.slice(textAt - length, textAt);
  };
  const nextOperation = () => {
    const condition = decodeCondition(next(), next());
    const hashKey = nextText();
    const rangeKey = nextText();
    const data = nextText();
    if (data === null)
      return { op: "delete", hashKey, rangeKey, condition };
    const ttlSeconds = numbers[at++];
    const updatedAtMs = numbers[at++] ?? undefined;
    const entries = [];
    for (let i = 0;i < entryCount; i++)
      entries.push(nextText());
    return { op: "put", hashKey, rangeKey, condition, data, ttlSeconds, entries, updatedAtMs };
  };
  const commands = [];
  while (at < numbers.length) {
    const count = next();
    if (count === otherCommand) {
      commands.push(JSON.parse(nextText()));
      continue;
    }
    const fence = { stamp: next(), keySeq: numbers[at++], tableId: numbers[at++] };
    const nowMs = next();
    const operations = [];
    for (let i = 0;i < count; i++)
      operations.push(nextOperation());
    commands.push({ kind: "write", fence, nowMs, operations });
  }
  return commands;
}, encodeOutcomes = (outcomes) => JSON.stringify(outcomes), decodeOutcomes = (text) => JSON.parse(text).map((outcome) => ("failure" in outcome) ? outcome : { value: outcome.value });
var init_command = __esm(() => {
  init_indices();
  entryCount = 2 * slots.length;
});

// src/engines/sqlite/connection.ts
import { Database } from "bun:sqlite";

class Connection {
  path;
  #db;
  #statements = new Map;
  constructor(path, cacheKib) {
    this.path = path;
    this.#db = new Database(path, { readwrite: true });
    this.run("PRAGMA busy_timeout = 5000");
    this.run("PRAGMA journal_mode = WAL");
    this.run("PRAGMA synchronous = FULL");
    this.run("PRAGMA wal_autocheckpoint = 0");
    this.run(`PRAGMA cache_size = -${cacheKib}`);
    this.run("PRAGMA temp_store = MEMORY");
  }
  prepare(sql) {
    let statement = this.#statements.get(sql);
    if (statement === undefined) {
      statement = this.#db.prepare(sql);
      this.#statements.set(sql, statement);
    }
    return statement;
  }
  run(sql) {
    this.#db.run(sql);
  }
  checkpoint() {
    try {
      this.prepare("PRAGMA wal_checkpoint(PASSIVE)").get();
      return;
    } catch (error) {
      const code = String(error.code);
      return { cause: `checkpoint: ${code} ${error.message}`, kind: faultKindOf(code) };
    }
  }
  get inTransaction() {
    return this.#db.inTransaction;
  }
  close() {
    for (const statement of this.#statements.values())
      statement.finalize();
    this.#db.close(true);
  }
}
var faultKindOf = (code) => {
  if (/^SQLITE_(FULL|BUSY)/.test(code))
    return "repeatable";
  return /^SQLITE_(CORRUPT|NOTADB)/.test(code) ? "damage" : "disk";
};
var init_connection = () => {};

// src/core/operator-error.ts
var OperatorError;
var init_operator_error = __esm(() => {
  OperatorError = class OperatorError extends Error {
    name = "OperatorError";
  };
});

// src/core/store-refused.ts
var StoreRefused, StoreUrlRefused, StoreDamaged;
var init_store_refused = __esm(() => {
  init_operator_error();
  StoreRefused = class StoreRefused extends OperatorError {
    name = "StoreRefused";
  };
  StoreUrlRefused = class StoreUrlRefused extends StoreRefused {
    name = "StoreUrlRefused";
  };
  StoreDamaged = class StoreDamaged extends StoreRefused {
  };
});

// src/engines/sqlite/disk/damage.ts
class Damage {
  #path;
  #log;
  #cause;
  #listeners = [];
  constructor(path, log) {
    this.#path = path;
    this.#log = log;
  }
  get cause() {
    return this.#cause;
  }
  onFirst(listener) {
    this.#listeners.push(listener);
  }
  note(cause) {
    if (this.#cause !== undefined)
      return;
    const hint = `${whatToDo}. Undamaged records are served. If the process is ended by SIGBUS, start it with --no-mmap`;
    this.#log("error", "the store is damaged", { file: this.#path, cause, hint });
    this.noteFromElsewhere(cause);
  }
  noteFromElsewhere(cause) {
    if (this.#cause !== undefined)
      return;
    this.#cause = cause;
    for (const listener of this.#listeners)
      listener(cause);
    this.#listeners = [];
  }
  explain(error) {
    if (!isDamage(error))
      return error;
    const cause = causeOf(error);
    this.note(cause);
    return new CubbyError("store_damaged", damageMessage, { hint: damageHint, cause });
  }
}
var codeOf = (error) => String(error?.code ?? ""), isDamage = (error) => /^SQLITE_(CORRUPT|NOTADB|IOERR_(READ|SHORT_READ|CORRUPTFS))/.test(codeOf(error)), damaged, orDamage = (read) => {
  try {
    return read();
  } catch (error) {
    if (isDamage(error))
      return damaged;
    throw error;
  }
}, firstReadable = (last, isReadableAfter) => {
  let far = 1;
  while (!isReadableAfter(last + far)) {
    far *= 2;
    if (last + far > Number.MAX_SAFE_INTEGER)
      return;
  }
  let near = Math.floor(far / 2);
  while (far - near > 1) {
    const middle = Math.floor((near + far) / 2);
    if (isReadableAfter(last + middle))
      far = middle;
    else
      near = middle;
  }
  return last + far;
}, damageMessage = "The store is damaged where this request reads or writes; nothing was applied.", damageHint = "The operator has to restore a backup; other records can still be read and written.", page = 'docs/operating.md, "When the store is damaged"', whatToDo, causeOf = (error) => `${codeOf(error)} ${error.message}`, refuseDamaged = (path, error) => isDamage(error) ? new StoreDamaged(`${path} is damaged or not a Cubby store (${causeOf(error)}): restore a backup; ${page}`) : error, damagedStore = (path, error) => new StoreDamaged(`${path} is damaged (${causeOf(error)}): ${whatToDo}`);
var init_damage = __esm(() => {
  init_errors();
  init_store_refused();
  damaged = Symbol("damaged");
  whatToDo = `see which tables with cubby verify, then restore a backup; ${page}`;
});

// src/engines/sqlite/disk/fault-point.ts
import { readFileSync, renameSync, rmSync, writeFileSync } from "fs";
var planFaults = (file, faults) => {
  writeFileSync(`${file}.new`, JSON.stringify(faults));
  renameSync(`${file}.new`, faults.length > 0 ? file : `${file}.hit`);
}, faultPoint = (file, at) => {
  let planned;
  try {
    planned = JSON.parse(readFileSync(file, "utf8"));
  } catch {
    return;
  }
  const [fault, ...later] = planned;
  if (fault?.at !== at)
    return;
  planFaults(file, later);
  if (later.length === 0)
    rmSync(file, { force: true });
  if ("waitMs" in fault)
    Bun.sleepSync(fault.waitMs);
  else
    throw Object.assign(new Error("a fault made by a test"), { code: fault.code });
};
var init_fault_point = () => {};

// src/core/records/checksum.ts
var fold = (hash, word) => Math.imul(hash ^ word, 16777619), foldInteger = (hash, value) => fold(fold(hash, value | 0), value / 4294967296 | 0), basis = 2166136261, shortCharactersMax = 32, hashOf = (text) => {
  if (text.length > shortCharactersMax)
    return Bun.hash.crc32(text);
  let hash = fold(basis, text.length);
  for (let i = 0;i < text.length; i++)
    hash = fold(hash, text.charCodeAt(i));
  return hash;
}, recordChecksum = (tableId, { hashKey, rangeKey, data, ttlSeconds, updatedAtMs }) => {
  let hash = foldInteger(basis, tableId);
  hash = fold(hash, hashOf(hashKey));
  hash = fold(hash, hashOf(rangeKey));
  hash = foldInteger(hash, updatedAtMs);
  hash = ttlSeconds === null ? fold(fold(hash, 0), -1) : foldInteger(hash, ttlSeconds);
  return Bun.hash.crc32(data) ^ hash;
}, suffixCharacters = 6, suffixOf = (checksum) => String.fromCharCode(48 + (checksum & 63), 48 + (checksum >>> 6 & 63), 48 + (checksum >>> 12 & 63), 48 + (checksum >>> 18 & 63), 48 + (checksum >>> 24 & 63), 48 + (checksum >>> 30)), endOfObject = 125, storedData = (tableId, record) => record.data + suffixOf(recordChecksum(tableId, record)), takeChecksum = (tableId, record) => {
  const { data: stored, ttlSeconds, updatedAtMs } = record;
  if (typeof stored !== "string" || !Number.isSafeInteger(updatedAtMs) || ttlSeconds !== null && !Number.isSafeInteger(ttlSeconds)) {
    return "damaged";
  }
  const end = stored.length - suffixCharacters;
  if (stored.charCodeAt(stored.length - 1) === endOfObject)
    return "unchecked";
  if (end < 2)
    return "damaged";
  record.data = stored.slice(0, end);
  const checksum = recordChecksum(tableId, record);
  for (let i = 0;i < suffixCharacters; i++) {
    const expected = i < 5 ? checksum >>> 6 * i & 63 : checksum >>> 30;
    if (stored.charCodeAt(end + i) !== 48 + expected)
      return "damaged";
  }
  return "intact";
};

// src/engines/sqlite/maintenance/add-checksums.ts
var stepBytesMax, findRow = (db) => db.prepare(`
    SELECT id, table_id AS tableId, CAST(hash_key AS TEXT) AS hashKey, CAST(range_key AS TEXT) AS rangeKey,
      updated_at AS updatedAtMs, ttl AS ttlSeconds, data
    FROM records WHERE id >= ?1 AND id < ?2 ORDER BY id LIMIT 1`), readMeta = (db, name) => db.prepare("SELECT value FROM meta WHERE name = ?1").get(name)?.value, setMeta = (db, name, value) => {
  db.prepare("INSERT OR REPLACE INTO meta (name, value) VALUES (?1, ?2)").run(name, value);
}, acceptsUnchecked = (db) => readMeta(db, "unchecked_next") !== undefined, addChecksums = (db, rowsMax, skipped) => {
  let next = readMeta(db, "unchecked_next") ?? 0;
  const end = readMeta(db, "unchecked_end") ?? 0;
  if (next >= end)
    return 0;
  if (skipped?.from === next) {
    setMeta(db, "unchecked_left", 1);
    next = skipped.to;
  }
  const stop = skipped === undefined || skipped.from < next ? end : skipped.from;
  const find = findRow(db);
  const update = db.prepare("UPDATE records SET data = ?2 WHERE id = ?1");
  let rows = 0;
  for (let bytes = 0;rows < rowsMax && bytes < stepBytesMax && next < stop; rows++) {
    const row = find.get(next, stop);
    if (row === null)
      next = stop;
    else {
      if (takeChecksum(row.tableId, row) === "unchecked") {
        update.run(row.id, storedData(row.tableId, row));
        bytes += row.data.length;
      }
      next = row.id + 1;
    }
  }
  if (next < end || readMeta(db, "unchecked_left") !== undefined)
    setMeta(db, "unchecked_next", next);
  else
    db.run(`DELETE FROM meta WHERE name IN ('unchecked_next', 'unchecked_end')`);
  return Math.max(1, rows);
}, findDamagedRows = (db, rowsMax) => {
  const end = readMeta(db, "unchecked_end") ?? 0;
  const find = findRow(db);
  const read = (id) => orDamage(() => find.get(id, end));
  let from = readMeta(db, "unchecked_next") ?? end;
  for (let rows = 0;rows < rowsMax; rows++) {
    const row = read(from);
    if (row === null)
      return;
    if (row === damaged) {
      const last = firstReadable(from - 1, (id) => read(id + 1) !== damaged);
      return { from, to: last === undefined ? end : last + 1 };
    }
    from = row.id + 1;
  }
  return;
};
var init_add_checksums = __esm(() => {
  init_damage();
  stepBytesMax = 1024 * 1024;
});

// src/core/records/expiry.ts
var isExpired = (ttlSeconds, nowMs) => ttlSeconds !== null && ttlSeconds * 1000 <= nowMs, nowSeconds = (nowMs) => Math.floor(nowMs / 1000);

// src/engines/sqlite/records/index-columns.ts
var indexColumns, entriesSql;
var init_index_columns = __esm(() => {
  init_indices();
  indexColumns = slots.flatMap((slot) => [`${slot}_hash`, `${slot}_range`]);
  entriesSql = `json_array(${indexColumns.map((column) => `CAST(r.${column} AS TEXT)`).join(", ")})`;
});

// src/core/records/record-key.ts
var noRangeKey = "#", encoder, utf8Bytes = (text) => encoder.encode(text), parseKeyPart = (value, field) => {
  if (typeof value !== "string") {
    throw new CubbyError("invalid_key", `${field} is ${describeValue(value)}; it takes a string.`, {
      field,
      hint: `Give ${field} as a string of 1 to ${keyBytesMax} bytes.`
    });
  }
  if (value.length === 0) {
    throw new CubbyError("invalid_key", `${field} is empty; it takes 1 to ${keyBytesMax} bytes of UTF-8.`, {
      field,
      hint: field.endsWith("rangeKey") ? "Leave rangeKey out for a record without one." : undefined
    });
  }
  if (!value.isWellFormed()) {
    throw new CubbyError("invalid_key", `${field} has a lone surrogate; it takes well-formed Unicode.`, { field });
  }
  if (value.length * 3 > keyBytesMax) {
    const bytes = Buffer.byteLength(value);
    if (bytes > keyBytesMax) {
      throw new CubbyError("invalid_key", `${field} has ${bytes} bytes; it takes at most ${keyBytesMax}.`, {
        field,
        hint: "Shorten the key, or use a hash of it and keep the long form in data."
      });
    }
  }
  if (value === "." || value === "..") {
    throw new CubbyError("invalid_key", `${field} is "${value}", which URL parsers drop from paths.`, {
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

// src/engines/sqlite/records/row-check.ts
class RowCheck {
  #log;
  #acceptsUnchecked;
  #logged = new Set;
  constructor(log, acceptsUnchecked) {
    this.#log = log;
    this.#acceptsUnchecked = acceptsUnchecked;
  }
  take(tableId, record) {
    const state = takeChecksum(tableId, record);
    if (state === "intact" || state === "unchecked" && this.#acceptsUnchecked)
      return;
    this.#note(tableId, record);
    throw damagedRecord(record);
  }
  #note(tableId, { hashKey, rangeKey }) {
    const name = JSON.stringify([tableId, hashKey, rangeKey]);
    if (this.#logged.size > linesMax || this.#logged.has(name))
      return;
    this.#logged.add(name);
    if (this.#logged.size > linesMax) {
      this.#log("error", "more records are damaged; no further one is logged", { next: "see which with cubby verify" });
      return;
    }
    this.#log("error", "a record is damaged", {
      tableId,
      hashKey,
      rangeKey,
      next: 'put or delete it, or restore a backup; docs/operating.md, "When the store is damaged"'
    });
  }
}
var linesMax = 100, showKey = ({ hashKey, rangeKey }) => rangeKey === noRangeKey ? `the record with hashKey ${JSON.stringify(hashKey)}` : `the record with hashKey ${JSON.stringify(hashKey)} and rangeKey ${JSON.stringify(rangeKey)}`, damagedRecord = (key) => new CubbyError("store_damaged", `The store is damaged: ${showKey(key)} is not as it was written.`, {
  hint: "Put or delete that record, which repairs it, or have the operator restore a backup."
});
var init_row_check = __esm(() => {
  init_errors();
  init_record_key();
});

// src/engines/sqlite/registry/cursor-key.ts
var readCursorKey = (db) => {
  const { secret, accepts_plain } = db.prepare("SELECT secret, accepts_plain FROM cursor_key").get();
  return { secret, acceptsPlain: accepts_plain === 1 };
}, writeCursorKey = (db, secretHex, acceptsPlain) => {
  db.prepare("UPDATE cursor_key SET secret = unhex(?1), accepts_plain = ?2").run(secretHex, acceptsPlain ? 1 : 0);
};

// src/engines/sqlite/registry/rows.ts
var keyColumns = "seq, id, org_id, kind, name, last_four, databases, created_at, last_used_at, expires_at, revoked_at", toApiKey = (row, stamp) => ({
  id: row.id,
  seq: row.seq,
  orgId: row.org_id,
  kind: row.kind,
  name: row.name,
  lastFour: row.last_four,
  databases: row.databases === null ? null : JSON.parse(row.databases),
  createdAtMs: row.created_at,
  lastUsedAtMs: row.last_used_at,
  expiresAtMs: row.expires_at,
  revokedAtMs: row.revoked_at,
  stamp
}), tableColumns = "id, org_id, db, name, indices, created_at, deleted_at", toTable = (row, stamp) => ({
  id: row.id,
  orgId: row.org_id,
  db: row.db,
  name: row.name,
  indices: JSON.parse(row.indices),
  createdAtMs: row.created_at,
  deletedAtMs: row.deleted_at,
  stamp
}), toOrganization = (row) => ({
  id: row.id,
  name: row.name,
  createdAtMs: row.created_at
});

// src/engines/sqlite/write/writer-thread.ts
init_command();

// src/engines/sqlite/write/write-connection.ts
init_errors();
init_connection();
init_damage();
init_fault_point();
init_add_checksums();

// src/engines/sqlite/maintenance/sweep.ts
init_limits();

// src/engines/sqlite/records/remove-damaged.ts
init_indices();
init_damage();
var byTime = { name: "records_by_time", columns: ["table_id", "updated_at"] };
var indexes = [
  { name: "records_by_key", columns: ["table_id", "hash_key", "range_key"] },
  byTime,
  { name: "records_by_ttl", columns: ["ttl"], sparseBy: "ttl" },
  ...slots.map((slot) => ({
    name: `records_by_${slot}`,
    columns: ["table_id", `${slot}_hash`, `${slot}_range`],
    sparseBy: `${slot}_hash`
  }))
];
var columns = [...new Set(indexes.flatMap((index) => index.columns))].join(", ");
var removeDamaged = (db, tableId, id) => {
  const row = readRow(db, id);
  const version = isIndexed(db, byTime, id, row) ? row.updated_at : findVersion(db, tableId, id);
  removeRow(db, id, row);
  return version;
};
var readRow = (db, id) => db.prepare(`SELECT ${columns} FROM records WHERE id = ?1`).get(id);
var removeRow = (db, id, row = readRow(db, id)) => {
  const wrong = indexes.filter((index) => !isIndexed(db, index, id, row)).map(({ name }) => name);
  const remake = wrong.map((name) => sqlOf(db, name));
  for (const name of wrong)
    db.run(`DROP INDEX ${name}`);
  db.prepare("DELETE FROM records WHERE id = ?1").run(id);
  for (const sql of remake)
    db.run(sql);
};
var removeRows = (db, ids, mayRemove = (_id) => true) => {
  const list = JSON.stringify(ids);
  const changed = db.prepare(`
    SELECT 1 FROM records AS r WHERE id IN (SELECT value FROM json_each(?1)) AND NOT EXISTS (
      SELECT 1 FROM records AS x INDEXED BY records_by_key
      WHERE x.table_id = r.table_id AND x.hash_key = r.hash_key AND x.range_key = r.range_key AND x.id = r.id
    ) LIMIT 1`);
  if (changed.get(list) === null) {
    db.run("SAVEPOINT removal");
    try {
      const remove = db.prepare("DELETE FROM records WHERE id IN (SELECT value FROM json_each(?1))");
      const { changes } = remove.run(list);
      db.run("RELEASE removal");
      return changes;
    } catch (error) {
      if (!isDamage(error))
        throw error;
    }
    db.run("ROLLBACK TO removal");
    db.run("RELEASE removal");
  }
  const removable = ids.filter(mayRemove);
  for (const id of removable)
    removeRow(db, id);
  return removable.length;
};
var belongsTo = (db, tableId, id) => {
  const row = db.prepare(`SELECT table_id AS tableId, CAST(hash_key AS TEXT) AS hashKey, CAST(range_key AS TEXT) AS rangeKey,
         updated_at AS updatedAtMs, ttl AS ttlSeconds, data
       FROM records WHERE id = ?1`).get(id);
  return row !== null && (row.tableId === tableId || takeChecksum(tableId, row) === "intact");
};
var sqlOf = (db, index) => db.prepare("SELECT sql FROM sqlite_schema WHERE name = ?1").get(index).sql;
var findVersion = (db, tableId, id) => db.prepare("SELECT updated_at FROM records INDEXED BY records_by_time WHERE table_id = ?1 AND id = ?2").get(tableId, id)?.updated_at;
var isIndexed = (db, { name, columns, sparseBy }, id, row) => {
  const find = (where, ...values) => db.prepare(`SELECT 1 FROM records INDEXED BY ${name} WHERE ${where} AND id = ?1`).get(id, ...values) !== null;
  if (sparseBy !== undefined && row[sparseBy] === null)
    return !find(`${sparseBy} IS NOT NULL`);
  const equal = columns.map((column, i) => `${column} = ?${i + 2}`);
  return find(equal.join(" AND "), ...columns.map((column) => row[column]));
};

// src/engines/sqlite/maintenance/sweep.ts
var run = (db, sql, ...values) => db.prepare(sql).run(...values).changes;
var findIds = (db, sql, ...values) => db.prepare(sql).all(...values).map(({ id }) => id);
var sweepExpired = (db, nowMs, rowsMax) => {
  const expired = findIds(db, "SELECT id FROM records WHERE id IN (SELECT id FROM records WHERE ttl <= ?1 LIMIT ?2) AND +ttl <= ?1", ...[Math.floor((nowMs - sweepGraceMs) / 1000), rowsMax]);
  return removeRows(db, expired);
};
var purgeTables = (db, nowMs, rowsMax) => {
  const table = db.prepare("SELECT id FROM tables WHERE deleted_at <= ?1 ORDER BY deleted_at LIMIT 1").get(nowMs - recoveryMs - sweepGraceMs);
  if (table === null)
    return 0;
  run(db, "UPDATE tables SET purging = 1 WHERE id = ?1 AND purging = 0", table.id);
  const rows = findIds(db, "SELECT id FROM records WHERE table_id = ?1 LIMIT ?2", ...[table.id, rowsMax]);
  const removed = removeRows(db, rows, (id) => belongsTo(db, table.id, id));
  if (rows.length < rowsMax || removed === 0)
    run(db, "DELETE FROM tables WHERE id = ?1", table.id);
  return removed + 1;
};

// src/engines/sqlite/records/record-writes.ts
init_index_columns();
init_row_check();
var idBlock = 1e6;
var comparedBytesMax = 4096;
var byIdAndKey = "id = ?1 AND +table_id = ?2 AND +hash_key = CAST(?3 AS BLOB) AND +range_key = CAST(?4 AS BLOB)";

class RecordWrites {
  #db;
  #find;
  #byTime;
  #byTtl;
  #insert;
  #update;
  #remove;
  #nextId = 0;
  #reservedTo = 0;
  constructor(db) {
    this.#db = db;
    this.#find = db.prepare(`SELECT id, updated_at, ttl, CASE WHEN octet_length(data) <= ${comparedBytesMax} THEN data END AS data FROM records
       WHERE table_id = ?1 AND hash_key = CAST(?2 AS BLOB) AND range_key = CAST(?3 AS BLOB)`);
    this.#byTime = db.prepare("SELECT 1 FROM records INDEXED BY records_by_time WHERE table_id = ?1 AND updated_at = ?2 AND id = ?3");
    this.#byTtl = db.prepare("SELECT 1 FROM records INDEXED BY records_by_ttl WHERE ttl = ?1 AND id = ?2");
    this.#insert = db.prepare(`INSERT INTO records (id, table_id, hash_key, range_key, updated_at, ttl, data, ${indexColumns.join(", ")})
       VALUES (?1, ?2, CAST(?3 AS BLOB), CAST(?4 AS BLOB), ?5, ?6, ?7,
         ${indexColumns.map((_, i) => `CAST(?${i + 8} AS BLOB)`).join(", ")})`);
    this.#update = db.prepare(`UPDATE records SET updated_at = ?5, ttl = ?6, data = ?7,
         ${indexColumns.map((column, i) => `${column} = CAST(?${i + 8} AS BLOB)`).join(", ")}
       WHERE ${byIdAndKey}`);
    this.#remove = db.prepare(`DELETE FROM records WHERE ${byIdAndKey}`);
  }
  write(tableId, operations, nowMs) {
    const found = operations.map((operation) => this.#look(tableId, operation));
    for (let i = 0;i < operations.length; i++) {
      const { condition } = operations[i];
      if (condition === undefined)
        continue;
      const current = liveOf(found[i], nowMs)?.updated_at;
      if (!holds(condition, current))
        return { applied: false, failedOperation: i, current };
    }
    const results = operations.map((operation, i) => operation.op === "put" ? { updatedAtMs: this.#put(tableId, operation, found[i], nowMs) } : { deleted: this.#delete(tableId, operation, found[i], nowMs) });
    return { applied: true, results };
  }
  #look(tableId, { hashKey, rangeKey, condition }) {
    const row = this.#find.get(tableId, hashKey, rangeKey);
    if (row === null)
      return null;
    const { id, updated_at, ttl, data } = row;
    const isDamaged = data === null ? !this.#isIndexed(tableId, row) : takeChecksum(tableId, { hashKey, rangeKey, data, ttlSeconds: ttl, updatedAtMs: updated_at }) === "damaged";
    if (isDamaged && condition !== undefined)
      throw damagedRecord({ hashKey, rangeKey });
    return { id, updated_at, ttl, isDamaged };
  }
  #isIndexed(tableId, { id, updated_at, ttl }) {
    return this.#byTime.get(tableId, updated_at, id) !== null && (ttl === null || this.#byTtl.get(ttl, id) !== null);
  }
  #put(tableId, operation, found, nowMs) {
    const { hashKey, rangeKey, data, ttlSeconds, entries } = operation;
    const writtenMs = operation.updatedAtMs ?? nowMs;
    const record = { hashKey, rangeKey, data, ttlSeconds, updatedAtMs: writtenMs };
    const live = liveOf(found, nowMs);
    if (live !== undefined) {
      record.updatedAtMs = Math.max(writtenMs, live.updated_at + 1);
      const values = [record.updatedAtMs, ttlSeconds, storedData(tableId, record)];
      const { changes } = this.#update.run(live.id, tableId, hashKey, rangeKey, ...values, ...entries);
      if (changes > 0)
        return record.updatedAtMs;
    }
    if (found !== null && (live !== undefined || !this.#removeRow(tableId, operation, found))) {
      const version = removeDamaged(this.#db, tableId, found.id);
      record.updatedAtMs = version === undefined ? writtenMs : Math.max(writtenMs, version + 1);
    }
    const values = [record.updatedAtMs, ttlSeconds, storedData(tableId, record)];
    this.#insert.run(this.#takeId(), tableId, hashKey, rangeKey, ...values, ...entries);
    return record.updatedAtMs;
  }
  #delete(tableId, key, found, nowMs) {
    if (found === null)
      return false;
    const isThere = found.isDamaged || liveOf(found, nowMs) !== undefined;
    if (isThere && !this.#removeRow(tableId, key, found))
      removeDamaged(this.#db, tableId, found.id);
    return isThere;
  }
  #removeRow(tableId, { hashKey, rangeKey }, { id, isDamaged }) {
    return !isDamaged && this.#remove.run(id, tableId, hashKey, rangeKey).changes > 0;
  }
  #takeId() {
    if (this.#nextId === this.#reservedTo) {
      const row = this.#db.prepare(`UPDATE meta SET value = value + ?1 WHERE name = 'next_record_id' RETURNING value`).get(idBlock);
      this.#reservedTo = row.value;
      this.#nextId = this.#reservedTo - idBlock;
    }
    return this.#nextId++;
  }
  forgetReservedIds() {
    this.#nextId = 0;
    this.#reservedTo = 0;
  }
}
var liveOf = (found, nowMs) => found === null || found.isDamaged || isExpired(found.ttl, nowMs) ? undefined : found;
var holds = (condition, current) => {
  if (condition === "absent")
    return current === undefined;
  if (condition === "exists")
    return current !== undefined;
  return current === condition.version;
};
// src/engines/sqlite/registry/registry-writes.ts
init_limits();

class RegistryWrites {
  #db;
  constructor(db) {
    this.#db = db;
  }
  #one(sql, ...values) {
    return this.#db.prepare(sql).get(...values) ?? undefined;
  }
  #run(sql, ...values) {
    return this.#db.prepare(sql).run(...values).changes;
  }
  epoch() {
    return this.#one(`SELECT value FROM meta WHERE name = 'registry_epoch'`).value;
  }
  #moveEpoch() {
    return this.#one(`UPDATE meta SET value = value + 1 WHERE name = 'registry_epoch' RETURNING value`).value;
  }
  keyIsActive(seq) {
    return this.#one("SELECT 1 FROM api_keys WHERE seq = ?1 AND revoked_at IS NULL", seq) !== undefined;
  }
  tableIsActive(id) {
    return this.#one("SELECT 1 FROM tables WHERE id = ?1 AND deleted_at IS NULL", id) !== undefined;
  }
  #activeTable(orgId, db, name) {
    return this.#one(`SELECT ${tableColumns} FROM tables WHERE org_id = ?1 AND db = ?2 AND name = ?3 AND deleted_at IS NULL`, ...[orgId, db, name]);
  }
  createTable(orgId, db, name, indices, nowMs) {
    const stamp = this.epoch();
    const present = this.#activeTable(orgId, db, name);
    if (present !== undefined)
      return { table: toTable(present, stamp), created: false };
    const row = this.#one(`INSERT INTO tables (org_id, db, name, indices, created_at) VALUES (?1, ?2, ?3, ?4, ?5) RETURNING ${tableColumns}`, ...[orgId, db, name, JSON.stringify(indices), nowMs]);
    return { table: toTable(row, stamp), created: true };
  }
  deleteTable(orgId, db, name, nowMs) {
    const present = this.#activeTable(orgId, db, name);
    if (present === undefined)
      return;
    const row = this.#one(`UPDATE tables SET deleted_at = max(?2, 1 + coalesce(
         (SELECT max(deleted_at) FROM tables WHERE org_id = ?3 AND db = ?4 AND name = ?5 AND deleted_at IS NOT NULL), 0))
       WHERE id = ?1 RETURNING ${tableColumns}`, ...[present.id, nowMs, orgId, db, name]);
    return toTable(row, this.#moveEpoch());
  }
  restoreTable(orgId, db, name, deletedAtMs, nowMs) {
    const active = this.#activeTable(orgId, db, name);
    const recoverable = `SELECT ${tableColumns} FROM tables
      WHERE org_id = ?1 AND db = ?2 AND name = ?3 AND deleted_at > ?4 AND purging = 0`;
    const newest = this.#one(`${recoverable} ORDER BY deleted_at DESC LIMIT 1`, ...[orgId, db, name, nowMs - recoveryMs]);
    if (active !== undefined && newest === undefined)
      return { outcome: "active", table: toTable(active, this.epoch()) };
    const chosen = deletedAtMs === undefined ? newest : this.#one(`${recoverable} AND deleted_at = ?5`, ...[orgId, db, name, nowMs - recoveryMs, deletedAtMs]);
    if (chosen === undefined)
      return { outcome: "missing" };
    if (active !== undefined)
      return { outcome: "taken", deletedAtMs: chosen.deleted_at };
    this.#run("UPDATE tables SET deleted_at = NULL WHERE id = ?1", chosen.id);
    return { outcome: "restored", table: toTable({ ...chosen, deleted_at: null }, this.epoch()) };
  }
  createApiKey(orgId, key, nowMs) {
    const databases = key.databases === null ? null : JSON.stringify(key.databases);
    const row = this.#one(`INSERT INTO api_keys (id, org_id, kind, name, hash, last_four, databases, created_at, expires_at)
       VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9) RETURNING ${keyColumns}`, ...[key.id, orgId, key.kind, key.name, key.hash, key.lastFour, databases, nowMs, key.expiresAtMs]);
    return toApiKey(row, this.epoch());
  }
  revokeApiKey(orgId, id, nowMs) {
    const present = this.#one(`SELECT ${keyColumns} FROM api_keys WHERE id = ?1 AND org_id = ?2`, id, orgId);
    if (present === undefined || present.revoked_at !== null)
      return present && toApiKey(present, this.epoch());
    this.#run("UPDATE api_keys SET revoked_at = ?2 WHERE seq = ?1", present.seq, nowMs);
    return toApiKey({ ...present, revoked_at: nowMs }, this.#moveEpoch());
  }
  recordKeyUse(uses) {
    for (const { id, atMs } of uses) {
      this.#run("UPDATE api_keys SET last_used_at = ?2 WHERE id = ?1 AND coalesce(last_used_at, 0) < ?2", id, atMs);
    }
  }
  createOrganization(name, keys, nowMs, onlyIfFirst) {
    const taken = onlyIfFirst ? this.#one("SELECT 1 FROM organizations LIMIT 1") : this.#one("SELECT 1 FROM organizations WHERE name = ?1", name);
    if (taken !== undefined)
      return;
    const row = this.#one("INSERT INTO organizations (name, created_at) VALUES (?1, ?2) RETURNING id, name, created_at", ...[name, nowMs]);
    for (const key of keys)
      this.createApiKey(row.id, key, nowMs);
    return toOrganization(row);
  }
}

// src/engines/sqlite/transfer/load.ts
init_index_columns();
var loadRows = (db, rows) => {
  const insert = (sql) => db.prepare(sql);
  for (const { id, name, createdAtMs } of rows.organizations ?? []) {
    insert("INSERT OR IGNORE INTO organizations (id, name, created_at) VALUES (?1, ?2, ?3)").run(id, name, createdAtMs);
  }
  for (const key of rows.apiKeys ?? []) {
    insert(`INSERT OR IGNORE INTO api_keys (seq, id, org_id, kind, name, hash, last_four, databases, created_at, last_used_at,
      expires_at, revoked_at) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12)`).run(...[key.seq, key.id, key.orgId, key.kind, key.name, key.hash, key.lastFour], ...[key.databases === null ? null : JSON.stringify(key.databases), key.createdAtMs, key.lastUsedAtMs], ...[key.expiresAtMs, key.revokedAtMs]);
  }
  for (const table of rows.tables ?? []) {
    insert(`INSERT OR IGNORE INTO tables (id, org_id, db, name, indices, created_at, deleted_at, purging)
      VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8)`).run(...[table.id, table.orgId, table.db, table.name, JSON.stringify(table.indices)], ...[table.createdAtMs, table.deletedAtMs, table.purging ? 1 : 0]);
  }
  let lastId = 0;
  for (const record of rows.records ?? []) {
    lastId = Math.max(lastId, record.id);
    insert(`INSERT OR IGNORE INTO records (id, table_id, hash_key, range_key, updated_at, ttl, data, ${indexColumns.join(", ")})
      VALUES (?1, ?2, CAST(?3 AS BLOB), CAST(?4 AS BLOB), ?5, ?6, ?7,
        ${indexColumns.map((_, i) => `CAST(?${i + 8} AS BLOB)`).join(", ")})`).run(...[
      record.id,
      record.tableId,
      record.hashKey,
      record.rangeKey,
      record.updatedAtMs,
      record.ttlSeconds,
      storedData(record.tableId, record)
    ], ...record.entries);
  }
  if (lastId > 0) {
    insert(`UPDATE meta SET value = max(value, ?1) WHERE name = 'next_record_id'`).run(lastId + 1);
  }
};

// src/engines/sqlite/write/write-connection.ts
init_command();
var cacheKib = 65536;

class WriteConnection {
  #path;
  #faults;
  #db;
  #records;
  #registry;
  reopened = false;
  failure;
  constructor(path, faults) {
    this.#path = path;
    this.#faults = faults;
    this.#open();
  }
  #open() {
    if (this.#faults !== undefined)
      faultPoint(this.#faults, "open");
    this.#db = new Connection(this.#path, cacheKib);
    this.#records = new RecordWrites(this.#db);
    this.#registry = new RegistryWrites(this.#db);
  }
  #reopen() {
    try {
      this.#db.close();
    } catch {}
    this.reopened = true;
    this.#open();
  }
  #rollBack() {
    try {
      if (this.#db.inTransaction)
        this.#db.run("ROLLBACK");
    } catch {}
    if (this.#db.inTransaction)
      this.#reopen();
  }
  commit(commands) {
    if (this.failure !== undefined)
      return commands.map(() => ({ failure: ending }));
    try {
      this.#db.run("BEGIN IMMEDIATE");
    } catch (error) {
      return failAll(commands, error, "begin");
    }
    if (this.#faults !== undefined)
      faultPoint(this.#faults, "begun");
    let outcomes;
    try {
      let epoch = this.#registry.epoch();
      outcomes = commands.map((command) => {
        const outcome = this.#attempt(command, epoch);
        if (makesCachesStale(command))
          epoch = this.#registry.epoch();
        return outcome;
      });
      if (this.#faults !== undefined)
        faultPoint(this.#faults, "statement");
    } catch (error) {
      if (isFatal(error)) {
        this.#reopen();
        return failAll(commands, error, "statement");
      }
      this.#rollBack();
      this.#records.forgetReservedIds();
      return commands.length === 1 ? failAll(commands, error, "statement") : commands.flatMap((command) => this.commit([command]));
    }
    try {
      if (this.#faults !== undefined)
        faultPoint(this.#faults, "commit");
      this.#db.run("COMMIT");
      return outcomes;
    } catch (error) {
      const outcomes = failAll(commands, error, "commit");
      if (codeOf(error).startsWith("SQLITE_IOERR"))
        this.failure = `commit: ${codeOf(error)} ${error.message}`;
      else
        this.#reopen();
      return outcomes;
    }
  }
  #attempt(command, epoch) {
    try {
      return { value: this.#execute(command, epoch) };
    } catch (error) {
      if (!(error instanceof CubbyError))
        throw error;
      return { failure: { code: error.code, message: error.message, hint: error.hint } };
    }
  }
  #execute(command, epoch) {
    const registry = this.#registry;
    switch (command.kind) {
      case "write":
        this.#checkFence(command.fence, epoch);
        return this.#records.write(command.fence.tableId, command.operations, command.nowMs);
      case "createTable":
        this.#checkFence(command.fence, epoch);
        return registry.createTable(command.orgId, command.db, command.name, command.indices, command.nowMs);
      case "deleteTable":
        this.#checkFence(command.fence, epoch);
        return registry.deleteTable(command.orgId, command.db, command.name, command.nowMs);
      case "restoreTable":
        this.#checkFence(command.fence, epoch);
        return registry.restoreTable(command.orgId, command.db, command.name, command.deletedAtMs, command.nowMs);
      case "createApiKey":
        this.#checkFence(command.fence, epoch);
        return registry.createApiKey(command.orgId, command.key, command.nowMs);
      case "revokeApiKey":
        this.#checkFence(command.fence, epoch);
        return registry.revokeApiKey(command.orgId, command.id, command.nowMs);
      case "recordKeyUse":
        return registry.recordKeyUse(command.uses);
      case "createOrganization":
        return registry.createOrganization(command.name, command.keys, command.nowMs, command.onlyIfFirst);
      case "load":
        this.#records.forgetReservedIds();
        return loadRows(this.#db, command.rows);
      case "sweepExpired":
        return sweepExpired(this.#db, command.nowMs, command.rowsMax);
      case "purgeTables":
        return purgeTables(this.#db, command.nowMs, command.rowsMax);
      case "addChecksums":
        return addChecksums(this.#db, command.rowsMax, command.skipped);
      case "loadCursorKey":
        return writeCursorKey(this.#db, command.secretHex, command.acceptsPlain);
    }
  }
  #checkFence(fence, epoch) {
    if (fence.stamp === epoch)
      return;
    if (fence.keySeq !== null && !this.#registry.keyIsActive(fence.keySeq)) {
      throw new CubbyError("revoked_api_key", "The API key has been revoked.");
    }
    if (fence.tableId !== null && !this.#registry.tableIsActive(fence.tableId)) {
      throw new CubbyError("table_not_found", "The table has been deleted.");
    }
  }
  walPages() {
    return this.#db.prepare("PRAGMA wal_checkpoint(NOOP)").get();
  }
  checkpoint() {
    return this.#db.checkpoint();
  }
  close() {
    this.#db.close();
  }
}
var ending = {
  code: "unavailable",
  message: "The disk failed and the server is ending; nothing was applied."
};
var isFatal = (error) => !isDamage(error) && /^SQLITE_(FULL|IOERR|NOMEM|READONLY|CANTOPEN)/.test(codeOf(error));
var describeFailure = (error, phase) => {
  const code = codeOf(error);
  const cause = `${phase}: ${code} ${error.message ?? error}`;
  if (code.startsWith("SQLITE_FULL")) {
    return {
      code: "storage_full",
      message: "The disk is full; nothing was applied.",
      hint: "Reads still work. Repeat the request once there is room.",
      cause
    };
  }
  if (phase !== "commit" && isDamage(error)) {
    return { code: "store_damaged", message: damageMessage, hint: damageHint, cause: causeOf(error) };
  }
  if (code.startsWith("SQLITE_BUSY") || code.startsWith("SQLITE_LOCKED")) {
    return { code: "unavailable", message: "Another process holds the store; nothing was applied.", cause };
  }
  if (phase === "commit") {
    return {
      code: "outcome_unknown",
      message: "The commit failed; the write may or may not have been applied.",
      hint: "Read the record before repeating the request.",
      cause
    };
  }
  return { code: "internal", message: "The store failed; nothing was applied.", cause };
};
var failAll = (commands, error, phase) => {
  const failure = describeFailure(error, phase);
  return commands.map(() => ({ failure }));
};

// src/engines/sqlite/write/writer-thread.ts
var connection;
var waiting = [];
var checkpointDue = false;
var scheduled = false;
var reply = (message) => self.postMessage(message);
var lastState = { walPages: 0, pendingPages: 0 };
var walState = () => {
  try {
    const { log, checkpointed } = connection.walPages();
    lastState = { walPages: log, pendingPages: log - checkpointed };
  } catch {}
  return lastState;
};
var takeEvents = () => {
  if (connection.failure !== undefined)
    return { failure: connection.failure };
  if (!connection.reopened)
    return;
  connection.reopened = false;
  return { reopened: true };
};
var commitWaiting = () => {
  const commands = waiting;
  waiting = [];
  const outcomes = connection.commit(commands);
  reply({ outcomes: encodeOutcomes(outcomes), ...walState(), ...takeEvents() });
};
var checkpoint = () => {
  checkpointDue = false;
  const fault = connection.failure === undefined ? connection.checkpoint() : undefined;
  reply({ checkpointed: true, ...walState(), fault });
};
var schedule = () => {
  if (scheduled)
    return;
  scheduled = true;
  setImmediate(() => {
    scheduled = false;
    if (waiting.length > 0)
      commitWaiting();
    if (checkpointDue)
      checkpoint();
  });
};
self.onmessage = (event) => {
  const message = event.data;
  if ("group" in message) {
    for (const command of decodeGroup(message.group))
      waiting.push(command);
    schedule();
  } else if ("checkpoint" in message) {
    checkpointDue = true;
    schedule();
  } else if ("open" in message) {
    try {
      connection = new WriteConnection(message.open, message.faults);
      reply({ opened: true });
    } catch (error) {
      reply({ refused: error.message });
    }
  } else {
    checkpointDue = false;
    connection.close();
    reply({ closed: true });
  }
};
