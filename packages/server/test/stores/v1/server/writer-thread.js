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
var __returnValue = (v) => v;
function __exportSetter(name, newValue) {
  this[name] = __returnValue.bind(null, newValue);
}
var __export = (target, all) => {
  for (var name in all)
    __defProp(target, name, {
      get: all[name],
      enumerable: true,
      configurable: true,
      set: __exportSetter.bind(all, name)
    });
};
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

// src/core/mask-api-keys.ts
var maskApiKeys = (text) => text.replace(/svc_(live|pub)_[0-9A-Za-z]{8,}/g, "svc_$1_****");

// ../client/src/error-codes.ts
var errorCodes;
var init_error_codes = __esm(() => {
  errorCodes = [
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
});

// ../client/src/index.ts
var init_src = __esm(() => {
  init_error_codes();
});

// src/core/errors.ts
var masked = (text) => text === undefined ? undefined : maskApiKeys(text), CubbyError2;
var init_errors = __esm(() => {
  init_src();
  CubbyError2 = class CubbyError2 extends Error {
    name = "CubbyError";
    code;
    field;
    hint;
    constructor(code, message, details = {}) {
      super(maskApiKeys(message), { cause: details.cause });
      this.code = code;
      this.field = masked(details.field);
      this.hint = masked(details.hint);
    }
    within(prefix) {
      return new CubbyError2(this.code, this.message, {
        field: this.field === undefined ? prefix : `${prefix}.${this.field}`,
        hint: this.hint
      });
    }
  };
});

// src/core/iso-date-time.ts
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

// src/core/limits.ts
var KIB = 1024, MIB, bodyBytesMax, batchBodyBytesMax, plainBodyBytesMax, keyBytesMax = 1024, dataBytesMax = 409600, dataDepthMax = 64, ttlSecondsMax = 253402300799, ttlPastSecondsMax = 86400, batchOperationsMax = 25, indexFieldCharactersMax = 255, indexStringBytesMax = 1024, requestIdCharactersMax = 128, keyNameCharactersMax = 128, keyDatabasesMax = 100, cursorCharactersMax, pageRowsDefault = 100, pageRowsMax = 1000, pageBytesMax, pageExpiredRowsMax = 1e4, bodiesInFlightBytesMax, bodyMsMax = 30000, bodyChunksFreeMax = 4096, bodyChunkBytesMin = 256, answersUnsentBytesMax, answerIdleSecondsMax = 10, requestsInFlightMax = 16384, turnMsMax = 5000, connectionIdleSecondsMax = 60, writeQueueRequestsMax = 8192, writeQueueBytesMax, connectionQueueRequestsMax = 4096, commitRequestsMax = 256, commitBytesMax, apiKeyCacheEntriesMax = 1e4, tableCacheEntriesMax = 50000, lastUsedEntriesMax = 50000, recoveryMs, sweepGraceMs, clockLeapHoldMs, sweepRowsMax = 50, lastUsedFlushMs = 30000, stopMsMax = 1e4;
var init_limits = __esm(() => {
  MIB = 1024 * KIB;
  bodyBytesMax = 1 * MIB;
  batchBodyBytesMax = 12 * MIB;
  plainBodyBytesMax = 64 * KIB;
  cursorCharactersMax = 16 * KIB;
  pageBytesMax = 1 * MIB;
  bodiesInFlightBytesMax = 128 * MIB;
  answersUnsentBytesMax = 64 * MIB;
  writeQueueBytesMax = 128 * MIB;
  commitBytesMax = 8 * MIB;
  recoveryMs = 7 * 24 * 60 * 60 * 1000;
  sweepGraceMs = 5 * 60 * 1000;
  clockLeapHoldMs = 60 * 60 * 1000;
});

// src/core/index-value.ts
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
        return `a string of ${Buffer.byteLength(value)} bytes, ${indexStringBytesMax} being the most`;
      }
      return;
    default:
      if (value === null)
        return "null";
      return Array.isArray(value) ? "an array" : value === undefined ? "missing" : "an object";
  }
};
var init_index_value = __esm(() => {
  init_iso_date_time();
  init_limits();
  view = new DataView(new ArrayBuffer(8));
  hex = Array.from({ length: 65536 }, (_, i) => i.toString(16).padStart(4, "0"));
});

// src/core/json-scan.ts
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
    throw new Error("JSON.parse takes what the scan refuses");
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

// src/core/json-span.ts
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
    throw new CubbyError2("invalid_request", `${field} stands twice in the body.`, {
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
  init_json_scan();
  init_steps();
});

// src/core/names.ts
var pattern2, parseName = (name, field) => {
  if (typeof name !== "string" || !pattern2.test(name)) {
    throw new CubbyError2("invalid_name", `${field} is ${describe(name)}; a name matches [a-z0-9_-]{1,64}.`, {
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
}, describe = (value) => {
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
var init_names = __esm(() => {
  init_errors();
  pattern2 = /^[a-z0-9_-]{1,64}$/;
});

// src/core/indices.ts
var slots, refuse = (field, message, hint) => {
  throw new CubbyError2("invalid_index", `${field} ${message}`, { field, hint });
}, parseFieldName = (value, field) => {
  if (typeof value !== "string")
    return refuse(field, `is ${describe(value)}; it takes the name of a field in data.`);
  const characters = value.length > indexFieldCharactersMax ? [...value].length : value.length;
  if (characters < 1 || characters > indexFieldCharactersMax) {
    return refuse(field, `has ${characters} characters; it takes 1 to ${indexFieldCharactersMax}.`);
  }
  return value;
}, parseIndices = (value) => {
  if (value === undefined)
    return {};
  if (typeof value !== "object" || value === null || Array.isArray(value)) {
    return refuse("indices", `is ${describe(value)}; it takes an object keyed by slot, i1 to i5.`);
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
      refuse(field, `is ${describe(declaration)}; it takes { "hashField": \u2026, "rangeField"?: \u2026 }.`);
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
  init_index_value();
  init_json_scan();
  init_json_span();
  init_limits();
  init_names();
  slots = ["i1", "i2", "i3", "i4", "i5"];
  noEntries = [null, null, null, null, null, null, null, null, null, null];
});

// src/core/store-refused.ts
var StoreRefused, StoreUrlRefused, StoreDamaged;
var init_store_refused = __esm(() => {
  StoreRefused = class StoreRefused extends Error {
    name = "StoreRefused";
  };
  StoreUrlRefused = class StoreUrlRefused extends StoreRefused {
    name = "StoreUrlRefused";
  };
  StoreDamaged = class StoreDamaged extends StoreRefused {
  };
});

// src/core/expiry.ts
var isExpired = (ttlSeconds, nowMs) => ttlSeconds !== null && ttlSeconds * 1000 <= nowMs, nowSeconds = (nowMs) => Math.floor(nowMs / 1000);

// src/engines/sqlite/command.ts
init_indices();
var entryCount = 2 * slots.length;
var conditionCode = (condition) => condition === undefined ? 0 : condition === "exists" ? 1 : condition === "absent" ? 2 : 3;
var decodeCondition = (code, version) => code === 0 ? undefined : code === 1 ? "exists" : code === 2 ? "absent" : { version };
var otherCommand = -1;
var encodeGroup = (commands) => {
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
};
var decodeGroup = (group) => {
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
};
var encodeOutcomes = (outcomes) => JSON.stringify(outcomes);
var decodeOutcomes = (text) => JSON.parse(text).map((outcome) => ("failure" in outcome) ? outcome : { value: outcome.value });

// src/engines/sqlite/writer.ts
init_errors();

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
      const cause = `checkpoint: ${code} ${error.message}`;
      return { cause, isRepeatable: /^SQLITE_(FULL|BUSY)/.test(code), isDamage: /^SQLITE_(CORRUPT|NOTADB)/.test(code) };
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

// src/engines/sqlite/damage.ts
init_errors();
init_store_refused();
var codeOf = (error) => String(error?.code ?? "");
var isDamage = (error) => /^SQLITE_(CORRUPT|NOTADB|IOERR_(READ|SHORT_READ|CORRUPTFS))/.test(codeOf(error));
var damageMessage = "The store is damaged where this request reads or writes; nothing was applied.";
var damageHint = "The operator has to restore a backup; other records can still be read and written.";
var page = 'docs/operating.md, "When the store is damaged"';
var whatToDo = `see which tables with cubby verify, then restore a backup; ${page}`;
var causeOf = (error) => `${codeOf(error)} ${error.message}`;
var refuseDamaged = (path, error) => isDamage(error) ? new StoreDamaged(`${path} is damaged or not a Cubby store (${causeOf(error)}): restore a backup; ${page}`) : error;
var damagedStore = (path, error) => new StoreDamaged(`${path} is damaged (${causeOf(error)}): ${whatToDo}`);

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
    return new CubbyError2("store_damaged", damageMessage, { hint: damageHint, cause });
  }
}

// src/engines/sqlite/fault-point.ts
import { readFileSync, renameSync, rmSync, writeFileSync } from "fs";
var planFaults = (file, faults) => {
  writeFileSync(`${file}.new`, JSON.stringify(faults));
  renameSync(`${file}.new`, faults.length > 0 ? file : `${file}.hit`);
};
var faultPoint = (file, at) => {
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

// src/engines/sqlite/load.ts
init_indices();
var indexColumns = slots.flatMap((slot) => [`${slot}_hash`, `${slot}_range`]);
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
      record.data
    ], ...record.entries);
  }
  if (lastId > 0) {
    insert(`UPDATE meta SET value = max(value, ?1) WHERE name = 'next_record_id'`).run(lastId + 1);
  }
};

// src/engines/sqlite/record-writer.ts
init_indices();
var idBlock = 1e6;
var indexColumns2 = slots.flatMap((slot) => [`${slot}_hash`, `${slot}_range`]);

class RecordWriter {
  #db;
  #find;
  #insert;
  #update;
  #remove;
  #nextId = 0;
  #reservedTo = 0;
  constructor(db) {
    this.#db = db;
    this.#find = db.prepare(`SELECT id, updated_at, ttl FROM records
       WHERE table_id = ?1 AND hash_key = CAST(?2 AS BLOB) AND range_key = CAST(?3 AS BLOB)`);
    this.#insert = db.prepare(`INSERT INTO records (id, table_id, hash_key, range_key, updated_at, ttl, data, ${indexColumns2.join(", ")})
       VALUES (?1, ?2, CAST(?3 AS BLOB), CAST(?4 AS BLOB), ?5, ?6, ?7,
         ${indexColumns2.map((_, i) => `CAST(?${i + 8} AS BLOB)`).join(", ")})`);
    this.#update = db.prepare(`UPDATE records SET updated_at = ?2, ttl = ?3, data = ?4,
         ${indexColumns2.map((column, i) => `${column} = CAST(?${i + 5} AS BLOB)`).join(", ")}
       WHERE id = ?1`);
    this.#remove = db.prepare("DELETE FROM records WHERE id = ?1");
  }
  write(tableId, operations, nowMs) {
    const found = operations.map(({ hashKey, rangeKey }) => this.#find.get(tableId, hashKey, rangeKey));
    for (let i = 0;i < operations.length; i++) {
      const { condition } = operations[i];
      if (condition === undefined)
        continue;
      const current = liveOf(found[i], nowMs)?.updated_at;
      if (!holds(condition, current))
        return { applied: false, failedOperation: i, current };
    }
    const results = operations.map((operation, i) => operation.op === "put" ? { updatedAtMs: this.#put(tableId, operation, found[i], nowMs) } : { deleted: this.#delete(found[i], nowMs) });
    return { applied: true, results };
  }
  #put(tableId, operation, found, nowMs) {
    const { hashKey, rangeKey, data, ttlSeconds, entries } = operation;
    const writtenMs = operation.updatedAtMs ?? nowMs;
    const live = liveOf(found, nowMs);
    if (live !== undefined) {
      const updatedAtMs = Math.max(writtenMs, live.updated_at + 1);
      this.#update.run(live.id, updatedAtMs, ttlSeconds, data, ...entries);
      return updatedAtMs;
    }
    if (found !== null)
      this.#remove.run(found.id);
    this.#insert.run(this.#takeId(), tableId, hashKey, rangeKey, writtenMs, ttlSeconds, data, ...entries);
    return writtenMs;
  }
  #delete(found, nowMs) {
    const live = liveOf(found, nowMs);
    if (live !== undefined)
      this.#remove.run(live.id);
    return live !== undefined;
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
var liveOf = (found, nowMs) => found === null || isExpired(found.ttl, nowMs) ? undefined : found;
var holds = (condition, current) => {
  if (condition === "absent")
    return current === undefined;
  if (condition === "exists")
    return current !== undefined;
  return current === condition.version;
};

// src/engines/sqlite/registry-writer.ts
init_limits();

// src/engines/sqlite/rows.ts
init_indices();
var keyColumns = "seq, id, org_id, kind, name, last_four, databases, created_at, last_used_at, expires_at, revoked_at";
var toApiKey = (row, stamp) => ({
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
});
var tableColumns = "id, org_id, db, name, indices, created_at, deleted_at";
var toTable = (row, stamp) => ({
  id: row.id,
  orgId: row.org_id,
  db: row.db,
  name: row.name,
  indices: JSON.parse(row.indices),
  createdAtMs: row.created_at,
  deletedAtMs: row.deleted_at,
  stamp
});
var toOrganization = (row) => ({
  id: row.id,
  name: row.name,
  createdAtMs: row.created_at
});
var entriesSql = `json_array(${slots.map((slot) => `CAST(r.${slot}_hash AS TEXT), CAST(r.${slot}_range AS TEXT)`).join(", ")})`;

// src/engines/sqlite/registry-writer.ts
class RegistryWriter {
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
  sweepExpired(nowMs, rowsMax) {
    return this.#run("DELETE FROM records WHERE id IN (SELECT id FROM records WHERE ttl <= ?1 LIMIT ?2)", ...[Math.floor((nowMs - sweepGraceMs) / 1000), rowsMax]);
  }
  purgeTables(nowMs, rowsMax) {
    const table = this.#one("SELECT id FROM tables WHERE deleted_at <= ?1 ORDER BY deleted_at LIMIT 1", nowMs - recoveryMs - sweepGraceMs);
    if (table === undefined)
      return 0;
    this.#run("UPDATE tables SET purging = 1 WHERE id = ?1 AND purging = 0", table.id);
    const removed = this.#run("DELETE FROM records WHERE id IN (SELECT id FROM records WHERE table_id = ?1 LIMIT ?2)", ...[table.id, rowsMax]);
    if (removed < rowsMax)
      this.#run("DELETE FROM tables WHERE id = ?1", table.id);
    return removed + 1;
  }
}

// src/engines/sqlite/writer.ts
var cacheKib = 65536;

class Writer {
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
    this.#records = new RecordWriter(this.#db);
    this.#registry = new RegistryWriter(this.#db);
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
        if (command.kind === "deleteTable" || command.kind === "revokeApiKey")
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
      if (codeOf2(error).startsWith("SQLITE_IOERR"))
        this.failure = `commit: ${codeOf2(error)} ${error.message}`;
      else
        this.#reopen();
      return outcomes;
    }
  }
  #attempt(command, epoch) {
    try {
      return { value: this.#execute(command, epoch) };
    } catch (error) {
      if (!(error instanceof CubbyError2))
        throw error;
      return { failure: { code: error.code, message: error.message, hint: error.hint } };
    }
  }
  #execute(command, epoch) {
    const registry = this.#registry;
    switch (command.kind) {
      case "write":
        this.#hold(command.fence, epoch);
        return this.#records.write(command.fence.tableId, command.operations, command.nowMs);
      case "createTable":
        this.#hold(command.fence, epoch);
        return registry.createTable(command.orgId, command.db, command.name, command.indices, command.nowMs);
      case "deleteTable":
        this.#hold(command.fence, epoch);
        return registry.deleteTable(command.orgId, command.db, command.name, command.nowMs);
      case "restoreTable":
        this.#hold(command.fence, epoch);
        return registry.restoreTable(command.orgId, command.db, command.name, command.deletedAtMs, command.nowMs);
      case "createApiKey":
        this.#hold(command.fence, epoch);
        return registry.createApiKey(command.orgId, command.key, command.nowMs);
      case "revokeApiKey":
        this.#hold(command.fence, epoch);
        return registry.revokeApiKey(command.orgId, command.id, command.nowMs);
      case "recordKeyUse":
        return registry.recordKeyUse(command.uses);
      case "createOrganization":
        return registry.createOrganization(command.name, command.keys, command.nowMs, command.onlyIfFirst);
      case "load":
        this.#records.forgetReservedIds();
        return loadRows(this.#db, command.rows);
      case "sweepExpired":
        return registry.sweepExpired(command.nowMs, command.rowsMax);
      case "purgeTables":
        return registry.purgeTables(command.nowMs, command.rowsMax);
    }
  }
  #hold(fence, epoch) {
    if (fence.stamp === epoch)
      return;
    if (fence.keySeq !== null && !this.#registry.keyIsActive(fence.keySeq)) {
      throw new CubbyError2("revoked_api_key", "The API key has been revoked.");
    }
    if (fence.tableId !== null && !this.#registry.tableIsActive(fence.tableId)) {
      throw new CubbyError2("table_not_found", "The table has been deleted.");
    }
  }
  logPages() {
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
var codeOf2 = (error) => String(error.code ?? "");
var isFatal = (error) => !isDamage(error) && /^SQLITE_(FULL|IOERR|NOMEM|READONLY|CANTOPEN)/.test(codeOf2(error));
var describeFailure = (error, phase) => {
  const code = codeOf2(error);
  const cause = `${phase}: ${code} ${error.message ?? error}`;
  if (code.startsWith("SQLITE_FULL")) {
    return {
      code: "storage_full",
      message: "The disk is full; nothing was applied.",
      hint: "Reads go on. Repeat the request once there is room.",
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

// src/engines/sqlite/writer-thread.ts
var writer;
var waiting = [];
var checkpointDue = false;
var scheduled = false;
var reply = (message) => self.postMessage(message);
var lastState = { log: 0, pending: 0 };
var logState = () => {
  try {
    const { log, checkpointed } = writer.logPages();
    lastState = { log, pending: log - checkpointed };
  } catch {}
  return lastState;
};
var takeEvents = () => {
  if (writer.failure !== undefined)
    return { failure: writer.failure };
  if (!writer.reopened)
    return;
  writer.reopened = false;
  return { reopened: true };
};
var commitWaiting = () => {
  const commands = waiting;
  waiting = [];
  const outcomes = writer.commit(commands);
  reply({ outcomes: encodeOutcomes(outcomes), ...logState(), ...takeEvents() });
};
var checkpoint = () => {
  checkpointDue = false;
  const fault = writer.failure === undefined ? writer.checkpoint() : undefined;
  reply({ checkpointed: true, ...logState(), fault });
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
      writer = new Writer(message.open, message.faults);
      reply({ opened: true });
    } catch (error) {
      reply({ refused: error.message });
    }
  } else {
    checkpointDue = false;
    writer.close();
    reply({ closed: true });
  }
};
