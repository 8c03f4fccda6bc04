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

// package.json
var package_default;
var init_package = __esm(() => {
  package_default = {
    name: "cubby",
    version: "0.1.0",
    description: "A schemaless document store: JSON records in tables, one command to start.",
    license: "Apache-2.0",
    type: "module",
    bin: {
      cubby: "bin/cubby"
    },
    files: [
      "bin",
      "src"
    ],
    dependencies: {
      "@cubby/client": "0.1.0",
      bun: "1.4.4",
      pg: "8.23.1"
    }
  };
});

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

// src/core/expiry.ts
var isExpired = (ttlSeconds, nowMs) => ttlSeconds !== null && ttlSeconds * 1000 <= nowMs, nowSeconds = (nowMs) => Math.floor(nowMs / 1000);

// src/core/api-key.ts
import { createHash, randomBytes } from "crypto";
var prefixes, alphabet = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz", pattern3, checksumLength = 6, randomBase62 = (length) => {
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
}, generateKeyId = () => `key_${randomBase62(20)}`, isWellFormedApiKey = (text) => pattern3.test(text) && checksum(text.slice(0, -checksumLength)) === text.slice(-checksumLength), hashApiKey = (text) => createHash("sha256").update(text).digest("hex"), maskApiKey = (kind, lastFour) => `${prefixes[kind]}****${lastFour}`, makeApiKey = (request) => {
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
}, refuse2 = (field, message, hint) => {
  throw new CubbyError2("invalid_request", `${field} ${message}`, { field, hint });
}, parseKeyKind = (value) => value === "secret" || value === "public" ? value : refuse2("kind", `is ${describe(value)}; it takes "secret" or "public".`, "A public key reads, a secret key reads and writes."), parseKeyName = (value) => {
  if (value === undefined || value === null)
    return null;
  if (typeof value !== "string")
    return refuse2("name", `is ${describe(value)}; it takes a string.`);
  const characters = [...value].length;
  if (characters < 1 || characters > keyNameCharactersMax || !value.isWellFormed()) {
    return refuse2("name", `takes 1 to ${keyNameCharactersMax} well-formed characters.`);
  }
  return value;
}, parseExpiresAt = (value, nowMs) => {
  if (value === undefined || value === null)
    return null;
  if (!Number.isSafeInteger(value)) {
    return refuse2("expiresAt", `is ${describe(value)}; it takes epoch milliseconds, an integer.`);
  }
  if (value <= nowMs) {
    const seconds = value < nowMs / 100 && value * 1000 > nowMs;
    return refuse2("expiresAt", "lies in the past; it takes an instant in the future.", seconds ? "It looks like seconds; give milliseconds." : undefined);
  }
  return value;
}, parseKeyDatabases = (value) => {
  if (value === undefined || value === null)
    return null;
  if (!Array.isArray(value) || value.length < 1 || value.length > keyDatabasesMax) {
    return refuse2("databases", `is ${Array.isArray(value) ? `an array of ${value.length}` : describe(value)}; it takes 1 to ${keyDatabasesMax} names.`, "Leave databases out for a key to all of them.");
  }
  return [...new Set(value.map((name, i) => parseName(name, `databases[${i}]`)))];
};
var init_api_key = __esm(() => {
  init_errors();
  init_limits();
  init_names();
  prefixes = { secret: "svc_live_", public: "svc_pub_" };
  pattern3 = /^svc_(?:live|pub)_[0-9A-Za-z]{38}$/;
});

// src/core/record-key.ts
var emptySlot = "#", encoder, utf8Bytes = (text) => encoder.encode(text), parseKeyPart = (value, field) => {
  if (typeof value !== "string") {
    throw new CubbyError2("invalid_key", `${field} is ${describe(value)}; it takes a string.`, {
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
      hint: 'Use another key; only "." and ".." are refused.'
    });
  }
  return value;
}, parseRecordKey = (hashKey, rangeKey, prefix = "") => ({
  hashKey: parseKeyPart(hashKey, `${prefix}hashKey`),
  rangeKey: rangeKey === undefined ? emptySlot : parseKeyPart(rangeKey, `${prefix}rangeKey`)
});
var init_record_key = __esm(() => {
  init_errors();
  init_limits();
  init_names();
  encoder = new TextEncoder;
});

// src/core/record-json.ts
class PageMeter {
  #records;
  #atMost = 1;
  #bytes = 1;
  #counted = 0;
  constructor(records) {
    this.#records = records;
  }
  takes(record) {
    this.#atMost += bytesAtMost(record);
    if (this.#atMost <= pageBytesMax)
      return true;
    this.#count();
    this.#bytes += bytesOf(record) + 1;
    this.#counted++;
    return this.#bytes <= pageBytesMax || this.#records.length === 0;
  }
  bytesLeft() {
    this.#count();
    return pageBytesMax - this.#bytes;
  }
  #count() {
    for (;this.#counted < this.#records.length; this.#counted++)
      this.#bytes += bytesOf(this.#records[this.#counted]) + 1;
  }
}
var needsNoEscape, quote3 = (text) => needsNoEscape.test(text) ? `"${text}"` : JSON.stringify(text), recordJson = (record, version = String(record.updatedAtMs)) => {
  const { hashKey, rangeKey, data, ttlSeconds } = record;
  const range = rangeKey === emptySlot ? "" : `,"rangeKey":${quote3(rangeKey)}`;
  const ttl = ttlSeconds === null ? "" : `,"ttl":${ttlSeconds}`;
  return `{"hashKey":${quote3(hashKey)}${range},"data":${data}${ttl},"updatedAt":${version}}`;
}, bytesOf = (record) => Buffer.byteLength(recordJson({ ...record, data: "" })) + Buffer.byteLength(record.data), longestFrame = '{"hashKey":"","rangeKey":"","data":,"ttl":253402300799,"updatedAt":9007199254740991},', bytesAtMost = ({ hashKey, rangeKey, data }) => longestFrame.length + 6 * (hashKey.length + rangeKey.length) + 3 * data.length, recordFrameBytesMin;
var init_record_json = __esm(() => {
  init_limits();
  init_record_key();
  needsNoEscape = /^[ !#-[\]-~]*$/;
  recordFrameBytesMin = '{"hashKey":"","data":,"updatedAt":0},'.length - 1;
});

// src/core/fair-queue.ts
class Fifo {
  #items = [];
  #head = 0;
  get size() {
    return this.#items.length - this.#head;
  }
  get first() {
    return this.#items[this.#head];
  }
  push(item) {
    this.#items.push(item);
  }
  shift() {
    if (this.size === 0)
      return;
    const item = this.#items[this.#head];
    this.#items[this.#head++] = undefined;
    if (this.#head === this.#items.length) {
      if (this.#head < compactAt)
        this.#items.length = 0;
      else
        this.#items = [];
      this.#head = 0;
    } else if (this.#head >= compactAt && this.#head * 2 > this.#items.length) {
      this.#items.splice(0, this.#head);
      this.#head = 0;
    }
    return item;
  }
}

class FairQueue {
  #turns = new Fifo;
  #byOrg = new Map;
  #spareOrg;
  #spareKey;
  #size = 0;
  get size() {
    return this.#size;
  }
  push(orgId, keySeq, item) {
    let org = this.#byOrg.get(orgId);
    if (org === undefined) {
      org = this.#spareOrg ?? { orgId, turns: new Fifo, byKey: new Map };
      this.#spareOrg = undefined;
      org.orgId = orgId;
      this.#byOrg.set(orgId, org);
      this.#turns.push(org);
    }
    let key = org.byKey.get(keySeq);
    if (key === undefined) {
      key = this.#spareKey ?? { keySeq, items: new Fifo };
      this.#spareKey = undefined;
      key.keySeq = keySeq;
      org.byKey.set(keySeq, key);
      org.turns.push(key);
    }
    key.items.push(item);
    this.#size++;
  }
  peek() {
    return this.#turns.first?.turns.first?.items.first;
  }
  shift() {
    const org = this.#turns.shift();
    if (org === undefined)
      return;
    const key = org.turns.shift();
    const item = key.items.shift();
    this.#size--;
    this.#lineUp(org, key);
    this.#lineUpOrg(org);
    return item;
  }
  removeLate(isLate) {
    const removed = [];
    for (let orgs = this.#turns.size;orgs > 0; orgs--) {
      const org = this.#turns.shift();
      for (let keys = org.turns.size;keys > 0; keys--) {
        const key = org.turns.shift();
        while (key.items.size > 0 && isLate(key.items.first))
          removed.push(key.items.shift());
        this.#lineUp(org, key);
      }
      this.#lineUpOrg(org);
    }
    this.#size -= removed.length;
    return removed;
  }
  #lineUp(org, key) {
    if (key.items.size > 0) {
      org.turns.push(key);
      return;
    }
    org.byKey.delete(key.keySeq);
    this.#spareKey = key;
  }
  #lineUpOrg(org) {
    if (org.turns.size > 0) {
      this.#turns.push(org);
      return;
    }
    this.#byOrg.delete(org.orgId);
    this.#spareOrg = org;
  }
}
var compactAt = 64;

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

// src/engines/postgres/bytes.ts
var toBytes = (text) => Buffer.from(text), toBytesOrNull = (text) => text === null ? null : Buffer.from(text), asBuffer = (bytes) => Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength), toHex = (text) => `\\x${Buffer.from(text).toString("hex")}`, bytesOfHex = (hex) => Buffer.from(hex.slice(2), "hex"), scratch, fromHex = (hex) => {
  if (hex === "\\x23")
    return "#";
  if (hex.length > scratch.length)
    return bytesOfHex(hex).toString();
  return scratch.toString("utf8", 0, scratch.write(hex.slice(2), "hex"));
};
var init_bytes = __esm(() => {
  scratch = Buffer.allocUnsafe(4096);
});

// ../../node_modules/postgres-array/index.js
var require_postgres_array = __commonJS(function(exports) {
  exports.parse = function(source, transform) {
    return new ArrayParser(source, transform).parse();
  };

  class ArrayParser {
    constructor(source, transform) {
      this.source = source;
      this.transform = transform || identity;
      this.position = 0;
      this.entries = [];
      this.recorded = [];
      this.dimension = 0;
    }
    isEof() {
      return this.position >= this.source.length;
    }
    nextCharacter() {
      var character = this.source[this.position++];
      if (character === "\\") {
        return {
          value: this.source[this.position++],
          escaped: true
        };
      }
      return {
        value: character,
        escaped: false
      };
    }
    record(character) {
      this.recorded.push(character);
    }
    newEntry(includeEmpty) {
      var entry;
      if (this.recorded.length > 0 || includeEmpty) {
        entry = this.recorded.join("");
        if (entry === "NULL" && !includeEmpty) {
          entry = null;
        }
        if (entry !== null)
          entry = this.transform(entry);
        this.entries.push(entry);
        this.recorded = [];
      }
    }
    consumeDimensions() {
      if (this.source[0] === "[") {
        while (!this.isEof()) {
          var char = this.nextCharacter();
          if (char.value === "=")
            break;
        }
      }
    }
    parse(nested) {
      var character, parser, quote;
      this.consumeDimensions();
      while (!this.isEof()) {
        character = this.nextCharacter();
        if (character.value === "{" && !quote) {
          this.dimension++;
          if (this.dimension > 1) {
            parser = new ArrayParser(this.source.substr(this.position - 1), this.transform);
            this.entries.push(parser.parse(true));
            this.position += parser.position - 2;
          }
        } else if (character.value === "}" && !quote) {
          this.dimension--;
          if (!this.dimension) {
            this.newEntry();
            if (nested)
              return this.entries;
          }
        } else if (character.value === '"' && !character.escaped) {
          if (quote)
            this.newEntry(true);
          quote = !quote;
        } else if (character.value === "," && !quote) {
          this.newEntry();
        } else {
          this.record(character.value);
        }
      }
      if (this.dimension !== 0) {
        throw new Error("array dimension not balanced");
      }
      return this.entries;
    }
  }
  function identity(value) {
    return value;
  }
});

// ../../node_modules/pg-types/lib/arrayParser.js
var require_arrayParser = __commonJS(function(exports, module) {
  var array = require_postgres_array();
  module.exports = {
    create: function(source, transform) {
      return {
        parse: function() {
          return array.parse(source, transform);
        }
      };
    }
  };
});

// ../../node_modules/postgres-date/index.js
var require_postgres_date = __commonJS(function(exports, module) {
  var DATE_TIME = /(\d{1,})-(\d{2})-(\d{2}) (\d{2}):(\d{2}):(\d{2})(\.\d{1,})?.*?( BC)?$/;
  var DATE = /^(\d{1,})-(\d{2})-(\d{2})( BC)?$/;
  var TIME_ZONE = /([Z+-])(\d{2})?:?(\d{2})?:?(\d{2})?/;
  var INFINITY = /^-?infinity$/;
  module.exports = function parseDate(isoDate) {
    if (INFINITY.test(isoDate)) {
      return Number(isoDate.replace("i", "I"));
    }
    var matches = DATE_TIME.exec(isoDate);
    if (!matches) {
      return getDate(isoDate) || null;
    }
    var isBC = !!matches[8];
    var year = parseInt(matches[1], 10);
    if (isBC) {
      year = bcYearToNegativeYear(year);
    }
    var month = parseInt(matches[2], 10) - 1;
    var day = matches[3];
    var hour = parseInt(matches[4], 10);
    var minute = parseInt(matches[5], 10);
    var second = parseInt(matches[6], 10);
    var ms = matches[7];
    ms = ms ? 1000 * parseFloat(ms) : 0;
    var date;
    var offset = timeZoneOffset(isoDate);
    if (offset != null) {
      date = new Date(Date.UTC(year, month, day, hour, minute, second, ms));
      if (is0To99(year)) {
        date.setUTCFullYear(year);
      }
      if (offset !== 0) {
        date.setTime(date.getTime() - offset);
      }
    } else {
      date = new Date(year, month, day, hour, minute, second, ms);
      if (is0To99(year)) {
        date.setFullYear(year);
      }
    }
    return date;
  };
  function getDate(isoDate) {
    var matches = DATE.exec(isoDate);
    if (!matches) {
      return;
    }
    var year = parseInt(matches[1], 10);
    var isBC = !!matches[4];
    if (isBC) {
      year = bcYearToNegativeYear(year);
    }
    var month = parseInt(matches[2], 10) - 1;
    var day = matches[3];
    var date = new Date(year, month, day);
    if (is0To99(year)) {
      date.setFullYear(year);
    }
    return date;
  }
  function timeZoneOffset(isoDate) {
    if (isoDate.endsWith("+00")) {
      return 0;
    }
    var zone = TIME_ZONE.exec(isoDate.split(" ")[1]);
    if (!zone)
      return;
    var type = zone[1];
    if (type === "Z") {
      return 0;
    }
    var sign = type === "-" ? -1 : 1;
    var offset = parseInt(zone[2], 10) * 3600 + parseInt(zone[3] || 0, 10) * 60 + parseInt(zone[4] || 0, 10);
    return offset * sign * 1000;
  }
  function bcYearToNegativeYear(year) {
    return -(year - 1);
  }
  function is0To99(num) {
    return num >= 0 && num < 100;
  }
});

// ../../node_modules/xtend/mutable.js
var require_mutable = __commonJS(function(exports, module) {
  module.exports = extend;
  var hasOwnProperty = Object.prototype.hasOwnProperty;
  function extend(target) {
    for (var i = 1;i < arguments.length; i++) {
      var source = arguments[i];
      for (var key in source) {
        if (hasOwnProperty.call(source, key)) {
          target[key] = source[key];
        }
      }
    }
    return target;
  }
});

// ../../node_modules/postgres-interval/index.js
var require_postgres_interval = __commonJS(function(exports, module) {
  var extend = require_mutable();
  module.exports = PostgresInterval;
  function PostgresInterval(raw) {
    if (!(this instanceof PostgresInterval)) {
      return new PostgresInterval(raw);
    }
    extend(this, parse(raw));
  }
  var properties = ["seconds", "minutes", "hours", "days", "months", "years"];
  PostgresInterval.prototype.toPostgres = function() {
    var filtered = properties.filter(this.hasOwnProperty, this);
    if (this.milliseconds && filtered.indexOf("seconds") < 0) {
      filtered.push("seconds");
    }
    if (filtered.length === 0)
      return "0";
    return filtered.map(function(property) {
      var value = this[property] || 0;
      if (property === "seconds" && this.milliseconds) {
        value = (value + this.milliseconds / 1000).toFixed(6).replace(/\.?0+$/, "");
      }
      return value + " " + property;
    }, this).join(" ");
  };
  var propertiesISOEquivalent = {
    years: "Y",
    months: "M",
    days: "D",
    hours: "H",
    minutes: "M",
    seconds: "S"
  };
  var dateProperties = ["years", "months", "days"];
  var timeProperties = ["hours", "minutes", "seconds"];
  PostgresInterval.prototype.toISOString = PostgresInterval.prototype.toISO = function() {
    var datePart = dateProperties.map(buildProperty, this).join("");
    var timePart = timeProperties.map(buildProperty, this).join("");
    return "P" + datePart + "T" + timePart;
    function buildProperty(property) {
      var value = this[property] || 0;
      if (property === "seconds" && this.milliseconds) {
        value = (value + this.milliseconds / 1000).toFixed(6).replace(/0+$/, "");
      }
      return value + propertiesISOEquivalent[property];
    }
  };
  var NUMBER = "([+-]?\\d+)";
  var YEAR = NUMBER + "\\s+years?";
  var MONTH = NUMBER + "\\s+mons?";
  var DAY = NUMBER + "\\s+days?";
  var TIME = "([+-])?([\\d]*):(\\d\\d):(\\d\\d)\\.?(\\d{1,6})?";
  var INTERVAL = new RegExp([YEAR, MONTH, DAY, TIME].map(function(regexString) {
    return "(" + regexString + ")?";
  }).join("\\s*"));
  var positions = {
    years: 2,
    months: 4,
    days: 6,
    hours: 9,
    minutes: 10,
    seconds: 11,
    milliseconds: 12
  };
  var negatives = ["hours", "minutes", "seconds", "milliseconds"];
  function parseMilliseconds(fraction) {
    var microseconds = fraction + "000000".slice(fraction.length);
    return parseInt(microseconds, 10) / 1000;
  }
  function parse(interval) {
    if (!interval)
      return {};
    var matches = INTERVAL.exec(interval);
    var isNegative = matches[8] === "-";
    return Object.keys(positions).reduce(function(parsed, property) {
      var position = positions[property];
      var value = matches[position];
      if (!value)
        return parsed;
      value = property === "milliseconds" ? parseMilliseconds(value) : parseInt(value, 10);
      if (!value)
        return parsed;
      if (isNegative && ~negatives.indexOf(property)) {
        value *= -1;
      }
      parsed[property] = value;
      return parsed;
    }, {});
  }
});

// ../../node_modules/postgres-bytea/index.js
var require_postgres_bytea = __commonJS(function(exports, module) {
  var bufferFrom = Buffer.from || Buffer;
  module.exports = function parseBytea(input) {
    if (/^\\x/.test(input)) {
      return bufferFrom(input.substr(2), "hex");
    }
    var output = "";
    var i = 0;
    while (i < input.length) {
      if (input[i] !== "\\") {
        output += input[i];
        ++i;
      } else {
        if (/[0-7]{3}/.test(input.substr(i + 1, 3))) {
          output += String.fromCharCode(parseInt(input.substr(i + 1, 3), 8));
          i += 4;
        } else {
          var backslashes = 1;
          while (i + backslashes < input.length && input[i + backslashes] === "\\") {
            backslashes++;
          }
          for (var k = 0;k < Math.floor(backslashes / 2); ++k) {
            output += "\\";
          }
          i += Math.floor(backslashes / 2) * 2;
        }
      }
    }
    return bufferFrom(output, "binary");
  };
});

// ../../node_modules/pg-types/lib/textParsers.js
var require_textParsers = __commonJS(function(exports, module) {
  var array = require_postgres_array();
  var arrayParser = require_arrayParser();
  var parseDate = require_postgres_date();
  var parseInterval = require_postgres_interval();
  var parseByteA = require_postgres_bytea();
  function allowNull(fn) {
    return function nullAllowed(value) {
      if (value === null)
        return value;
      return fn(value);
    };
  }
  function parseBool(value) {
    if (value === null)
      return value;
    return value === "TRUE" || value === "t" || value === "true" || value === "y" || value === "yes" || value === "on" || value === "1";
  }
  function parseBoolArray(value) {
    if (!value)
      return null;
    return array.parse(value, parseBool);
  }
  function parseBaseTenInt(string) {
    return parseInt(string, 10);
  }
  function parseIntegerArray(value) {
    if (!value)
      return null;
    return array.parse(value, allowNull(parseBaseTenInt));
  }
  function parseBigIntegerArray(value) {
    if (!value)
      return null;
    return array.parse(value, allowNull(function(entry) {
      return parseBigInteger(entry).trim();
    }));
  }
  var parsePointArray = function(value) {
    if (!value) {
      return null;
    }
    var p = arrayParser.create(value, function(entry) {
      if (entry !== null) {
        entry = parsePoint(entry);
      }
      return entry;
    });
    return p.parse();
  };
  var parseFloatArray = function(value) {
    if (!value) {
      return null;
    }
    var p = arrayParser.create(value, function(entry) {
      if (entry !== null) {
        entry = parseFloat(entry);
      }
      return entry;
    });
    return p.parse();
  };
  var parseStringArray = function(value) {
    if (!value) {
      return null;
    }
    var p = arrayParser.create(value);
    return p.parse();
  };
  var parseDateArray = function(value) {
    if (!value) {
      return null;
    }
    var p = arrayParser.create(value, function(entry) {
      if (entry !== null) {
        entry = parseDate(entry);
      }
      return entry;
    });
    return p.parse();
  };
  var parseIntervalArray = function(value) {
    if (!value) {
      return null;
    }
    var p = arrayParser.create(value, function(entry) {
      if (entry !== null) {
        entry = parseInterval(entry);
      }
      return entry;
    });
    return p.parse();
  };
  var parseByteAArray = function(value) {
    if (!value) {
      return null;
    }
    return array.parse(value, allowNull(parseByteA));
  };
  var parseInteger = function(value) {
    return parseInt(value, 10);
  };
  var parseBigInteger = function(value) {
    var valStr = String(value);
    if (/^\d+$/.test(valStr)) {
      return valStr;
    }
    return value;
  };
  var parseJsonArray = function(value) {
    if (!value) {
      return null;
    }
    return array.parse(value, allowNull(JSON.parse));
  };
  var parsePoint = function(value) {
    if (value[0] !== "(") {
      return null;
    }
    value = value.substring(1, value.length - 1).split(",");
    return {
      x: parseFloat(value[0]),
      y: parseFloat(value[1])
    };
  };
  var parseCircle = function(value) {
    if (value[0] !== "<" && value[1] !== "(") {
      return null;
    }
    var point = "(";
    var radius = "";
    var pointParsed = false;
    for (var i = 2;i < value.length - 1; i++) {
      if (!pointParsed) {
        point += value[i];
      }
      if (value[i] === ")") {
        pointParsed = true;
        continue;
      } else if (!pointParsed) {
        continue;
      }
      if (value[i] === ",") {
        continue;
      }
      radius += value[i];
    }
    var result = parsePoint(point);
    result.radius = parseFloat(radius);
    return result;
  };
  var init = function(register) {
    register(20, parseBigInteger);
    register(21, parseInteger);
    register(23, parseInteger);
    register(26, parseInteger);
    register(700, parseFloat);
    register(701, parseFloat);
    register(16, parseBool);
    register(1082, parseDate);
    register(1114, parseDate);
    register(1184, parseDate);
    register(600, parsePoint);
    register(651, parseStringArray);
    register(718, parseCircle);
    register(1000, parseBoolArray);
    register(1001, parseByteAArray);
    register(1005, parseIntegerArray);
    register(1007, parseIntegerArray);
    register(1028, parseIntegerArray);
    register(1016, parseBigIntegerArray);
    register(1017, parsePointArray);
    register(1021, parseFloatArray);
    register(1022, parseFloatArray);
    register(1231, parseFloatArray);
    register(1014, parseStringArray);
    register(1015, parseStringArray);
    register(1008, parseStringArray);
    register(1009, parseStringArray);
    register(1040, parseStringArray);
    register(1041, parseStringArray);
    register(1115, parseDateArray);
    register(1182, parseDateArray);
    register(1185, parseDateArray);
    register(1186, parseInterval);
    register(1187, parseIntervalArray);
    register(17, parseByteA);
    register(114, JSON.parse.bind(JSON));
    register(3802, JSON.parse.bind(JSON));
    register(199, parseJsonArray);
    register(3807, parseJsonArray);
    register(3907, parseStringArray);
    register(2951, parseStringArray);
    register(791, parseStringArray);
    register(1183, parseStringArray);
    register(1270, parseStringArray);
  };
  module.exports = {
    init
  };
});

// ../../node_modules/pg-int8/index.js
var require_pg_int8 = __commonJS(function(exports, module) {
  var BASE = 1e6;
  function readInt8(buffer) {
    var high = buffer.readInt32BE(0);
    var low = buffer.readUInt32BE(4);
    var sign = "";
    if (high < 0) {
      high = ~high + (low === 0);
      low = ~low + 1 >>> 0;
      sign = "-";
    }
    var result = "";
    var carry;
    var t;
    var digits;
    var pad;
    var l;
    var i;
    {
      carry = high % BASE;
      high = high / BASE >>> 0;
      t = 4294967296 * carry + low;
      low = t / BASE >>> 0;
      digits = "" + (t - BASE * low);
      if (low === 0 && high === 0) {
        return sign + digits + result;
      }
      pad = "";
      l = 6 - digits.length;
      for (i = 0;i < l; i++) {
        pad += "0";
      }
      result = pad + digits + result;
    }
    {
      carry = high % BASE;
      high = high / BASE >>> 0;
      t = 4294967296 * carry + low;
      low = t / BASE >>> 0;
      digits = "" + (t - BASE * low);
      if (low === 0 && high === 0) {
        return sign + digits + result;
      }
      pad = "";
      l = 6 - digits.length;
      for (i = 0;i < l; i++) {
        pad += "0";
      }
      result = pad + digits + result;
    }
    {
      carry = high % BASE;
      high = high / BASE >>> 0;
      t = 4294967296 * carry + low;
      low = t / BASE >>> 0;
      digits = "" + (t - BASE * low);
      if (low === 0 && high === 0) {
        return sign + digits + result;
      }
      pad = "";
      l = 6 - digits.length;
      for (i = 0;i < l; i++) {
        pad += "0";
      }
      result = pad + digits + result;
    }
    {
      carry = high % BASE;
      t = 4294967296 * carry + low;
      digits = "" + t % BASE;
      return sign + digits + result;
    }
  }
  module.exports = readInt8;
});

// ../../node_modules/pg-types/lib/binaryParsers.js
var require_binaryParsers = __commonJS(function(exports, module) {
  var parseInt64 = require_pg_int8();
  var parseBits = function(data, bits, offset, invert, callback) {
    offset = offset || 0;
    invert = invert || false;
    callback = callback || function(lastValue, newValue, bits) {
      return lastValue * Math.pow(2, bits) + newValue;
    };
    var offsetBytes = offset >> 3;
    var inv = function(value) {
      if (invert) {
        return ~value & 255;
      }
      return value;
    };
    var mask = 255;
    var firstBits = 8 - offset % 8;
    if (bits < firstBits) {
      mask = 255 << 8 - bits & 255;
      firstBits = bits;
    }
    if (offset) {
      mask = mask >> offset % 8;
    }
    var result = 0;
    if (offset % 8 + bits >= 8) {
      result = callback(0, inv(data[offsetBytes]) & mask, firstBits);
    }
    var bytes = bits + offset >> 3;
    for (var i = offsetBytes + 1;i < bytes; i++) {
      result = callback(result, inv(data[i]), 8);
    }
    var lastBits = (bits + offset) % 8;
    if (lastBits > 0) {
      result = callback(result, inv(data[bytes]) >> 8 - lastBits, lastBits);
    }
    return result;
  };
  var parseFloatFromBits = function(data, precisionBits, exponentBits) {
    var bias = Math.pow(2, exponentBits - 1) - 1;
    var sign = parseBits(data, 1);
    var exponent = parseBits(data, exponentBits, 1);
    if (exponent === 0) {
      return 0;
    }
    var precisionBitsCounter = 1;
    var parsePrecisionBits = function(lastValue, newValue, bits) {
      if (lastValue === 0) {
        lastValue = 1;
      }
      for (var i = 1;i <= bits; i++) {
        precisionBitsCounter /= 2;
        if ((newValue & 1 << bits - i) > 0) {
          lastValue += precisionBitsCounter;
        }
      }
      return lastValue;
    };
    var mantissa = parseBits(data, precisionBits, exponentBits + 1, false, parsePrecisionBits);
    if (exponent == Math.pow(2, exponentBits + 1) - 1) {
      if (mantissa === 0) {
        return sign === 0 ? Infinity : -Infinity;
      }
      return NaN;
    }
    return (sign === 0 ? 1 : -1) * Math.pow(2, exponent - bias) * mantissa;
  };
  var parseInt16 = function(value) {
    if (parseBits(value, 1) == 1) {
      return -1 * (parseBits(value, 15, 1, true) + 1);
    }
    return parseBits(value, 15, 1);
  };
  var parseInt32 = function(value) {
    if (parseBits(value, 1) == 1) {
      return -1 * (parseBits(value, 31, 1, true) + 1);
    }
    return parseBits(value, 31, 1);
  };
  var parseFloat32 = function(value) {
    return parseFloatFromBits(value, 23, 8);
  };
  var parseFloat64 = function(value) {
    return parseFloatFromBits(value, 52, 11);
  };
  var parseNumeric = function(value) {
    var sign = parseBits(value, 16, 32);
    if (sign == 49152) {
      return NaN;
    }
    var weight = Math.pow(1e4, parseBits(value, 16, 16));
    var result = 0;
    var digits = [];
    var ndigits = parseBits(value, 16);
    for (var i = 0;i < ndigits; i++) {
      result += parseBits(value, 16, 64 + 16 * i) * weight;
      weight /= 1e4;
    }
    var scale = Math.pow(10, parseBits(value, 16, 48));
    return (sign === 0 ? 1 : -1) * Math.round(result * scale) / scale;
  };
  var parseDate = function(isUTC, value) {
    var sign = parseBits(value, 1);
    var rawValue = parseBits(value, 63, 1);
    var result = new Date((sign === 0 ? 1 : -1) * rawValue / 1000 + 946684800000);
    if (!isUTC) {
      result.setTime(result.getTime() + result.getTimezoneOffset() * 60000);
    }
    result.usec = rawValue % 1000;
    result.getMicroSeconds = function() {
      return this.usec;
    };
    result.setMicroSeconds = function(value) {
      this.usec = value;
    };
    result.getUTCMicroSeconds = function() {
      return this.usec;
    };
    return result;
  };
  var parseArray = function(value) {
    var dim = parseBits(value, 32);
    var flags = parseBits(value, 32, 32);
    var elementType = parseBits(value, 32, 64);
    var offset = 96;
    var dims = [];
    for (var i = 0;i < dim; i++) {
      dims[i] = parseBits(value, 32, offset);
      offset += 32;
      offset += 32;
    }
    var parseElement = function(elementType) {
      var length = parseBits(value, 32, offset);
      offset += 32;
      if (length == 4294967295) {
        return null;
      }
      var result;
      if (elementType == 23 || elementType == 20) {
        result = parseBits(value, length * 8, offset);
        offset += length * 8;
        return result;
      } else if (elementType == 25) {
        result = value.toString(this.encoding, offset >> 3, (offset += length << 3) >> 3);
        return result;
      } else {
        console.log("ERROR: ElementType not implemented: " + elementType);
      }
    };
    var parse = function(dimension, elementType) {
      var array = [];
      var i;
      if (dimension.length > 1) {
        var count = dimension.shift();
        for (i = 0;i < count; i++) {
          array[i] = parse(dimension, elementType);
        }
        dimension.unshift(count);
      } else {
        for (i = 0;i < dimension[0]; i++) {
          array[i] = parseElement(elementType);
        }
      }
      return array;
    };
    return parse(dims, elementType);
  };
  var parseText = function(value) {
    return value.toString("utf8");
  };
  var parseBool = function(value) {
    if (value === null)
      return null;
    return parseBits(value, 8) > 0;
  };
  var init = function(register) {
    register(20, parseInt64);
    register(21, parseInt16);
    register(23, parseInt32);
    register(26, parseInt32);
    register(1700, parseNumeric);
    register(700, parseFloat32);
    register(701, parseFloat64);
    register(16, parseBool);
    register(1114, parseDate.bind(null, false));
    register(1184, parseDate.bind(null, true));
    register(1000, parseArray);
    register(1007, parseArray);
    register(1016, parseArray);
    register(1008, parseArray);
    register(1009, parseArray);
    register(25, parseText);
  };
  module.exports = {
    init
  };
});

// ../../node_modules/pg-types/lib/builtins.js
var require_builtins = __commonJS(function(exports, module) {
  module.exports = {
    BOOL: 16,
    BYTEA: 17,
    CHAR: 18,
    INT8: 20,
    INT2: 21,
    INT4: 23,
    REGPROC: 24,
    TEXT: 25,
    OID: 26,
    TID: 27,
    XID: 28,
    CID: 29,
    JSON: 114,
    XML: 142,
    PG_NODE_TREE: 194,
    SMGR: 210,
    PATH: 602,
    POLYGON: 604,
    CIDR: 650,
    FLOAT4: 700,
    FLOAT8: 701,
    ABSTIME: 702,
    RELTIME: 703,
    TINTERVAL: 704,
    CIRCLE: 718,
    MACADDR8: 774,
    MONEY: 790,
    MACADDR: 829,
    INET: 869,
    ACLITEM: 1033,
    BPCHAR: 1042,
    VARCHAR: 1043,
    DATE: 1082,
    TIME: 1083,
    TIMESTAMP: 1114,
    TIMESTAMPTZ: 1184,
    INTERVAL: 1186,
    TIMETZ: 1266,
    BIT: 1560,
    VARBIT: 1562,
    NUMERIC: 1700,
    REFCURSOR: 1790,
    REGPROCEDURE: 2202,
    REGOPER: 2203,
    REGOPERATOR: 2204,
    REGCLASS: 2205,
    REGTYPE: 2206,
    UUID: 2950,
    TXID_SNAPSHOT: 2970,
    PG_LSN: 3220,
    PG_NDISTINCT: 3361,
    PG_DEPENDENCIES: 3402,
    TSVECTOR: 3614,
    TSQUERY: 3615,
    GTSVECTOR: 3642,
    REGCONFIG: 3734,
    REGDICTIONARY: 3769,
    JSONB: 3802,
    REGNAMESPACE: 4089,
    REGROLE: 4096
  };
});

// ../../node_modules/pg-types/index.js
var require_pg_types = __commonJS(function(exports) {
  var textParsers = require_textParsers();
  var binaryParsers = require_binaryParsers();
  var arrayParser = require_arrayParser();
  var builtinTypes = require_builtins();
  exports.getTypeParser = getTypeParser;
  exports.setTypeParser = setTypeParser;
  exports.arrayParser = arrayParser;
  exports.builtins = builtinTypes;
  var typeParsers = {
    text: {},
    binary: {}
  };
  function noParse(val) {
    return String(val);
  }
  function getTypeParser(oid, format) {
    format = format || "text";
    if (!typeParsers[format]) {
      return noParse;
    }
    return typeParsers[format][oid] || noParse;
  }
  function setTypeParser(oid, format, parseFn) {
    if (typeof format == "function") {
      parseFn = format;
      format = "text";
    }
    typeParsers[format][oid] = parseFn;
  }
  textParsers.init(function(oid, converter) {
    typeParsers.text[oid] = converter;
  });
  binaryParsers.init(function(oid, converter) {
    typeParsers.binary[oid] = converter;
  });
});

// ../../node_modules/pg/lib/defaults.js
var require_defaults = __commonJS(function(exports, module) {
  var user;
  try {
    user = process.platform === "win32" ? process.env.USERNAME : process.env.USER;
  } catch {}
  module.exports = {
    host: "localhost",
    user,
    database: undefined,
    password: null,
    connectionString: undefined,
    port: 5432,
    rows: 0,
    binary: false,
    max: 10,
    idleTimeoutMillis: 30000,
    client_encoding: "",
    ssl: false,
    sslnegotiation: undefined,
    application_name: undefined,
    fallback_application_name: undefined,
    options: undefined,
    parseInputDatesAsUTC: false,
    statement_timeout: false,
    lock_timeout: false,
    idle_in_transaction_session_timeout: false,
    query_timeout: false,
    connect_timeout: 0,
    keepalives: 1,
    keepalives_idle: 0
  };
  var pgTypes = require_pg_types();
  var parseBigInteger = pgTypes.getTypeParser(20, "text");
  var parseBigIntegerArray = pgTypes.getTypeParser(1016, "text");
  module.exports.__defineSetter__("parseInt8", function(val) {
    pgTypes.setTypeParser(20, "text", val ? pgTypes.getTypeParser(23, "text") : parseBigInteger);
    pgTypes.setTypeParser(1016, "text", val ? pgTypes.getTypeParser(1007, "text") : parseBigIntegerArray);
  });
});

// ../../node_modules/pg/lib/utils.js
var require_utils = __commonJS(function(exports, module) {
  var defaults = require_defaults();
  var nodeUtils = __require("util");
  var { isDate } = __require("util/types");
  var invalidDateDeprecationNotice = nodeUtils.deprecate(() => {}, "Sending an invalid date to Postgres is deprecated and will throw an error in the next major version of pg. Ensure any Date object passed as a query parameter is valid.", "PG_INVALID_DATE");
  function escapeElement(elementRepresentation) {
    const escaped = elementRepresentation.replace(/\\/g, "\\\\").replace(/"/g, "\\\"");
    return '"' + escaped + '"';
  }
  function arrayString(val) {
    let result = "{";
    for (let i = 0;i < val.length; i++) {
      if (i > 0) {
        result += ",";
      }
      let item = val[i];
      if (item == null) {
        result += "NULL";
      } else if (Array.isArray(item)) {
        result += arrayString(item);
      } else if (ArrayBuffer.isView(item)) {
        if (!(item instanceof Buffer)) {
          item = Buffer.from(item.buffer, item.byteOffset, item.byteLength);
        }
        result += "\\\\x" + item.toString("hex");
      } else {
        result += escapeElement(prepareValue(item));
      }
    }
    result += "}";
    return result;
  }
  var prepareValue = function(val, seen) {
    if (val == null) {
      return null;
    }
    if (typeof val === "object") {
      if (val instanceof Buffer) {
        return val;
      }
      if (ArrayBuffer.isView(val)) {
        return Buffer.from(val.buffer, val.byteOffset, val.byteLength);
      }
      if (isDate(val)) {
        if (isNaN(val.getTime())) {
          invalidDateDeprecationNotice();
        }
        if (defaults.parseInputDatesAsUTC) {
          return dateToStringUTC(val);
        } else {
          return dateToString(val);
        }
      }
      if (Array.isArray(val)) {
        return arrayString(val);
      }
      return prepareObject(val, seen);
    }
    return val.toString();
  };
  function prepareObject(val, seen) {
    if (val && typeof val.toPostgres === "function") {
      seen = seen || [];
      if (seen.indexOf(val) !== -1) {
        throw new Error('circular reference detected while preparing "' + val + '" for query');
      }
      seen.push(val);
      return prepareValue(val.toPostgres(prepareValue), seen);
    }
    return JSON.stringify(val);
  }
  function dateToString(date) {
    let offset = -date.getTimezoneOffset();
    let year = date.getFullYear();
    const isBCYear = year < 1;
    if (isBCYear)
      year = Math.abs(year) + 1;
    let ret = String(year).padStart(4, "0") + "-" + String(date.getMonth() + 1).padStart(2, "0") + "-" + String(date.getDate()).padStart(2, "0") + "T" + String(date.getHours()).padStart(2, "0") + ":" + String(date.getMinutes()).padStart(2, "0") + ":" + String(date.getSeconds()).padStart(2, "0") + "." + String(date.getMilliseconds()).padStart(3, "0");
    if (offset < 0) {
      ret += "-";
      offset *= -1;
    } else {
      ret += "+";
    }
    ret += String(Math.floor(offset / 60)).padStart(2, "0") + ":" + String(offset % 60).padStart(2, "0");
    if (isBCYear)
      ret += " BC";
    return ret;
  }
  function dateToStringUTC(date) {
    let year = date.getUTCFullYear();
    const isBCYear = year < 1;
    if (isBCYear)
      year = Math.abs(year) + 1;
    let ret = String(year).padStart(4, "0") + "-" + String(date.getUTCMonth() + 1).padStart(2, "0") + "-" + String(date.getUTCDate()).padStart(2, "0") + "T" + String(date.getUTCHours()).padStart(2, "0") + ":" + String(date.getUTCMinutes()).padStart(2, "0") + ":" + String(date.getUTCSeconds()).padStart(2, "0") + "." + String(date.getUTCMilliseconds()).padStart(3, "0");
    ret += "+00:00";
    if (isBCYear)
      ret += " BC";
    return ret;
  }
  function normalizeQueryConfig(config, values, callback) {
    config = typeof config === "string" ? { text: config } : cloneQueryConfig(config);
    if (values) {
      if (typeof values === "function") {
        config.callback = values;
      } else {
        config.values = values;
      }
    }
    if (callback) {
      config.callback = callback;
    }
    return config;
  }
  function cloneQueryConfig(config) {
    if (config == null) {
      return config;
    }
    return Object.defineProperties(Object.create(Object.getPrototypeOf(config)), Object.getOwnPropertyDescriptors(config));
  }
  var escapeIdentifier = function(str) {
    return '"' + str.replace(/"/g, '""') + '"';
  };
  var escapeLiteral = function(str) {
    let hasBackslash = false;
    let escaped = "'";
    if (str == null) {
      return "''";
    }
    if (typeof str !== "string") {
      return "''";
    }
    for (let i = 0;i < str.length; i++) {
      const c = str[i];
      if (c === "'") {
        escaped += c + c;
      } else if (c === "\\") {
        escaped += c + c;
        hasBackslash = true;
      } else {
        escaped += c;
      }
    }
    escaped += "'";
    if (hasBackslash === true) {
      escaped = " E" + escaped;
    }
    return escaped;
  };
  module.exports = {
    prepareValue: function prepareValueWrapper(value) {
      return prepareValue(value);
    },
    normalizeQueryConfig,
    escapeIdentifier,
    escapeLiteral
  };
});

// ../../node_modules/pg/lib/crypto/utils.js
var require_utils2 = __commonJS(function(exports, module) {
  var nodeCrypto = __require("crypto");
  module.exports = {
    postgresMd5PasswordHash,
    randomBytes,
    deriveKey,
    sha256,
    hashByName,
    hmacSha256,
    md5
  };
  var webCrypto = nodeCrypto.webcrypto || globalThis.crypto;
  var subtleCrypto = webCrypto.subtle;
  var textEncoder = new TextEncoder;
  function randomBytes(length) {
    return webCrypto.getRandomValues(Buffer.alloc(length));
  }
  async function md5(string) {
    try {
      return nodeCrypto.createHash("md5").update(string, "utf-8").digest("hex");
    } catch (e) {
      const data = typeof string === "string" ? textEncoder.encode(string) : string;
      const hash = await subtleCrypto.digest("MD5", data);
      return Array.from(new Uint8Array(hash)).map((b) => b.toString(16).padStart(2, "0")).join("");
    }
  }
  async function postgresMd5PasswordHash(user, password, salt) {
    const inner = await md5(password + user);
    const outer = await md5(Buffer.concat([Buffer.from(inner), salt]));
    return "md5" + outer;
  }
  async function sha256(text) {
    return await subtleCrypto.digest("SHA-256", text);
  }
  async function hashByName(hashName, text) {
    return await subtleCrypto.digest(hashName, text);
  }
  async function hmacSha256(keyBuffer, msg) {
    const key = await subtleCrypto.importKey("raw", keyBuffer, { name: "HMAC", hash: "SHA-256" }, false, ["sign"]);
    return await subtleCrypto.sign("HMAC", key, textEncoder.encode(msg));
  }
  async function deriveKey(password, salt, iterations) {
    const key = await subtleCrypto.importKey("raw", textEncoder.encode(password), "PBKDF2", false, ["deriveBits"]);
    const params = { name: "PBKDF2", hash: "SHA-256", salt, iterations };
    return await subtleCrypto.deriveBits(params, key, 32 * 8, ["deriveBits"]);
  }
});

// ../../node_modules/pg/lib/crypto/cert-signatures.js
var require_cert_signatures = __commonJS(function(exports, module) {
  function x509Error(msg, cert) {
    return new Error("SASL channel binding: " + msg + " when parsing public certificate " + cert.toString("base64"));
  }
  function readASN1Length(data, index) {
    let length = data[index++];
    if (length < 128)
      return { length, index };
    const lengthBytes = length & 127;
    if (lengthBytes > 4)
      throw x509Error("bad length", data);
    length = 0;
    for (let i = 0;i < lengthBytes; i++) {
      length = length << 8 | data[index++];
    }
    return { length, index };
  }
  function readASN1OID(data, index) {
    if (data[index++] !== 6)
      throw x509Error("non-OID data", data);
    const { length: OIDLength, index: indexAfterOIDLength } = readASN1Length(data, index);
    index = indexAfterOIDLength;
    const lastIndex = index + OIDLength;
    const byte1 = data[index++];
    let oid = (byte1 / 40 >> 0) + "." + byte1 % 40;
    while (index < lastIndex) {
      let value = 0;
      while (index < lastIndex) {
        const nextByte = data[index++];
        value = value << 7 | nextByte & 127;
        if (nextByte < 128)
          break;
      }
      oid += "." + value;
    }
    return { oid, index };
  }
  function expectASN1Seq(data, index) {
    if (data[index++] !== 48)
      throw x509Error("non-sequence data", data);
    return readASN1Length(data, index);
  }
  function signatureAlgorithmHashFromCertificate(data, index) {
    if (index === undefined)
      index = 0;
    index = expectASN1Seq(data, index).index;
    const { length: certInfoLength, index: indexAfterCertInfoLength } = expectASN1Seq(data, index);
    index = indexAfterCertInfoLength + certInfoLength;
    index = expectASN1Seq(data, index).index;
    const { oid, index: indexAfterOID } = readASN1OID(data, index);
    switch (oid) {
      case "1.2.840.113549.1.1.4":
        return "MD5";
      case "1.2.840.113549.1.1.5":
        return "SHA-1";
      case "1.2.840.113549.1.1.11":
        return "SHA-256";
      case "1.2.840.113549.1.1.12":
        return "SHA-384";
      case "1.2.840.113549.1.1.13":
        return "SHA-512";
      case "1.2.840.113549.1.1.14":
        return "SHA-224";
      case "1.2.840.113549.1.1.15":
        return "SHA512-224";
      case "1.2.840.113549.1.1.16":
        return "SHA512-256";
      case "1.2.840.10045.4.1":
        return "SHA-1";
      case "1.2.840.10045.4.3.1":
        return "SHA-224";
      case "1.2.840.10045.4.3.2":
        return "SHA-256";
      case "1.2.840.10045.4.3.3":
        return "SHA-384";
      case "1.2.840.10045.4.3.4":
        return "SHA-512";
      case "1.2.840.113549.1.1.10": {
        index = indexAfterOID;
        index = expectASN1Seq(data, index).index;
        if (data[index++] !== 160)
          throw x509Error("non-tag data", data);
        index = readASN1Length(data, index).index;
        index = expectASN1Seq(data, index).index;
        const { oid: hashOID } = readASN1OID(data, index);
        switch (hashOID) {
          case "1.2.840.113549.2.5":
            return "MD5";
          case "1.3.14.3.2.26":
            return "SHA-1";
          case "2.16.840.1.101.3.4.2.1":
            return "SHA-256";
          case "2.16.840.1.101.3.4.2.2":
            return "SHA-384";
          case "2.16.840.1.101.3.4.2.3":
            return "SHA-512";
        }
        throw x509Error("unknown hash OID " + hashOID, data);
      }
      case "1.3.101.110":
      case "1.3.101.112":
        return "SHA-512";
      case "1.3.101.111":
      case "1.3.101.113":
        throw x509Error("Ed448 certificate channel binding is not currently supported by Postgres");
    }
    throw x509Error("unknown OID " + oid, data);
  }
  module.exports = { signatureAlgorithmHashFromCertificate };
});

// ../../node_modules/pg/lib/crypto/sasl.js
var require_sasl = __commonJS(function(exports, module) {
  var crypto = require_utils2();
  var { signatureAlgorithmHashFromCertificate } = require_cert_signatures();
  function saslprep(password) {
    const nonAsciiSpace = /[\u00A0\u1680\u2000-\u200B\u202F\u205F\u3000]/g;
    const mappedToNothing = /[\u00AD\u034F\u1806\u180B\u180C\u180D\u200C\u200D\u2060\uFE00-\uFE0F\uFEFF]/g;
    return password.replace(nonAsciiSpace, " ").replace(mappedToNothing, "").normalize("NFKC");
  }
  var DEFAULT_MAX_SCRAM_ITERATIONS = 1e5;
  function startSession(mechanisms, stream, scramMaxIterations = DEFAULT_MAX_SCRAM_ITERATIONS) {
    const candidates = ["SCRAM-SHA-256"];
    if (stream)
      candidates.unshift("SCRAM-SHA-256-PLUS");
    const mechanism = candidates.find((candidate) => mechanisms.includes(candidate));
    if (!mechanism) {
      throw new Error("SASL: Only mechanism(s) " + candidates.join(" and ") + " are supported");
    }
    if (mechanism === "SCRAM-SHA-256-PLUS" && typeof stream.getPeerCertificate !== "function") {
      throw new Error("SASL: Mechanism SCRAM-SHA-256-PLUS requires a certificate");
    }
    const clientNonce = crypto.randomBytes(18).toString("base64");
    const gs2Header = mechanism === "SCRAM-SHA-256-PLUS" ? "p=tls-server-end-point" : stream ? "y" : "n";
    return {
      mechanism,
      clientNonce,
      response: gs2Header + ",,n=*,r=" + clientNonce,
      message: "SASLInitialResponse",
      scramMaxIterations
    };
  }
  async function continueSession(session, password, serverData, stream) {
    if (session.message !== "SASLInitialResponse") {
      throw new Error("SASL: Last message was not SASLInitialResponse");
    }
    if (typeof password !== "string") {
      throw new Error("SASL: SCRAM-SERVER-FIRST-MESSAGE: client password must be a string");
    }
    if (password === "") {
      throw new Error("SASL: SCRAM-SERVER-FIRST-MESSAGE: client password must be a non-empty string");
    }
    if (typeof serverData !== "string") {
      throw new Error("SASL: SCRAM-SERVER-FIRST-MESSAGE: serverData must be a string");
    }
    const sv = parseServerFirstMessage(serverData);
    if (!sv.nonce.startsWith(session.clientNonce)) {
      throw new Error("SASL: SCRAM-SERVER-FIRST-MESSAGE: server nonce does not start with client nonce");
    } else if (sv.nonce.length === session.clientNonce.length) {
      throw new Error("SASL: SCRAM-SERVER-FIRST-MESSAGE: server nonce is too short");
    }
    const scramMaxIterations = typeof session.scramMaxIterations === "number" ? session.scramMaxIterations : DEFAULT_MAX_SCRAM_ITERATIONS;
    if (scramMaxIterations !== 0 && sv.iteration > scramMaxIterations) {
      throw new Error("SASL: SCRAM-SERVER-FIRST-MESSAGE: iteration count " + sv.iteration + " exceeds scramMaxIterations of " + scramMaxIterations);
    }
    const clientFirstMessageBare = "n=*,r=" + session.clientNonce;
    const serverFirstMessage = "r=" + sv.nonce + ",s=" + sv.salt + ",i=" + sv.iteration;
    let channelBinding = stream ? "eSws" : "biws";
    if (session.mechanism === "SCRAM-SHA-256-PLUS") {
      const peerCert = stream.getPeerCertificate().raw;
      let hashName = signatureAlgorithmHashFromCertificate(peerCert);
      if (hashName === "MD5" || hashName === "SHA-1")
        hashName = "SHA-256";
      const certHash = await crypto.hashByName(hashName, peerCert);
      const bindingData = Buffer.concat([Buffer.from("p=tls-server-end-point,,"), Buffer.from(certHash)]);
      channelBinding = bindingData.toString("base64");
    }
    const clientFinalMessageWithoutProof = "c=" + channelBinding + ",r=" + sv.nonce;
    const authMessage = clientFirstMessageBare + "," + serverFirstMessage + "," + clientFinalMessageWithoutProof;
    const saltBytes = Buffer.from(sv.salt, "base64");
    const saltedPassword = await crypto.deriveKey(saslprep(password), saltBytes, sv.iteration);
    const clientKey = await crypto.hmacSha256(saltedPassword, "Client Key");
    const storedKey = await crypto.sha256(clientKey);
    const clientSignature = await crypto.hmacSha256(storedKey, authMessage);
    const clientProof = xorBuffers(Buffer.from(clientKey), Buffer.from(clientSignature)).toString("base64");
    const serverKey = await crypto.hmacSha256(saltedPassword, "Server Key");
    const serverSignatureBytes = await crypto.hmacSha256(serverKey, authMessage);
    session.message = "SASLResponse";
    session.serverSignature = Buffer.from(serverSignatureBytes).toString("base64");
    session.response = clientFinalMessageWithoutProof + ",p=" + clientProof;
  }
  function finalizeSession(session, serverData) {
    if (session.message !== "SASLResponse") {
      throw new Error("SASL: Last message was not SASLResponse");
    }
    if (typeof serverData !== "string") {
      throw new Error("SASL: SCRAM-SERVER-FINAL-MESSAGE: serverData must be a string");
    }
    const { serverSignature } = parseServerFinalMessage(serverData);
    if (serverSignature !== session.serverSignature) {
      throw new Error("SASL: SCRAM-SERVER-FINAL-MESSAGE: server signature does not match");
    }
  }
  function isPrintableChars(text) {
    if (typeof text !== "string") {
      throw new TypeError("SASL: text must be a string");
    }
    return text.split("").map((_, i) => text.charCodeAt(i)).every((c) => c >= 33 && c <= 43 || c >= 45 && c <= 126);
  }
  function isBase64(text) {
    return /^(?:[a-zA-Z0-9+/]{4})*(?:[a-zA-Z0-9+/]{2}==|[a-zA-Z0-9+/]{3}=)?$/.test(text);
  }
  function parseAttributePairs(text) {
    if (typeof text !== "string") {
      throw new TypeError("SASL: attribute pairs text must be a string");
    }
    return new Map(text.split(",").map((attrValue) => {
      if (!/^.=/.test(attrValue)) {
        throw new Error("SASL: Invalid attribute pair entry");
      }
      const name = attrValue[0];
      const value = attrValue.substring(2);
      return [name, value];
    }));
  }
  function parseServerFirstMessage(data) {
    const attrPairs = parseAttributePairs(data);
    const nonce = attrPairs.get("r");
    if (!nonce) {
      throw new Error("SASL: SCRAM-SERVER-FIRST-MESSAGE: nonce missing");
    } else if (!isPrintableChars(nonce)) {
      throw new Error("SASL: SCRAM-SERVER-FIRST-MESSAGE: nonce must only contain printable characters");
    }
    const salt = attrPairs.get("s");
    if (!salt) {
      throw new Error("SASL: SCRAM-SERVER-FIRST-MESSAGE: salt missing");
    } else if (!isBase64(salt)) {
      throw new Error("SASL: SCRAM-SERVER-FIRST-MESSAGE: salt must be base64");
    }
    const iterationText = attrPairs.get("i");
    if (!iterationText) {
      throw new Error("SASL: SCRAM-SERVER-FIRST-MESSAGE: iteration missing");
    } else if (!/^[1-9][0-9]*$/.test(iterationText)) {
      throw new Error("SASL: SCRAM-SERVER-FIRST-MESSAGE: invalid iteration count");
    }
    const iteration = parseInt(iterationText, 10);
    return {
      nonce,
      salt,
      iteration
    };
  }
  function parseServerFinalMessage(serverData) {
    const attrPairs = parseAttributePairs(serverData);
    const error = attrPairs.get("e");
    const serverSignature = attrPairs.get("v");
    if (error) {
      throw new Error(`SASL: SCRAM-SERVER-FINAL-MESSAGE: server returned error: "${error}"`);
    }
    if (!serverSignature) {
      throw new Error("SASL: SCRAM-SERVER-FINAL-MESSAGE: server signature is missing");
    } else if (!isBase64(serverSignature)) {
      throw new Error("SASL: SCRAM-SERVER-FINAL-MESSAGE: server signature must be base64");
    }
    return {
      serverSignature
    };
  }
  function xorBuffers(a, b) {
    if (!Buffer.isBuffer(a)) {
      throw new TypeError("first argument must be a Buffer");
    }
    if (!Buffer.isBuffer(b)) {
      throw new TypeError("second argument must be a Buffer");
    }
    if (a.length !== b.length) {
      throw new Error("Buffer lengths must match");
    }
    if (a.length === 0) {
      throw new Error("Buffers cannot be empty");
    }
    return Buffer.from(a.map((_, i) => a[i] ^ b[i]));
  }
  module.exports = {
    startSession,
    continueSession,
    finalizeSession,
    DEFAULT_MAX_SCRAM_ITERATIONS
  };
});

// ../../node_modules/pg/lib/type-overrides.js
var require_type_overrides = __commonJS(function(exports, module) {
  var types = require_pg_types();
  function TypeOverrides(userTypes) {
    this._types = userTypes || types;
    this.text = {};
    this.binary = {};
  }
  TypeOverrides.prototype.getOverrides = function(format) {
    switch (format) {
      case "text":
        return this.text;
      case "binary":
        return this.binary;
      default:
        return {};
    }
  };
  TypeOverrides.prototype.setTypeParser = function(oid, format, parseFn) {
    if (typeof format === "function") {
      parseFn = format;
      format = "text";
    }
    this.getOverrides(format)[oid] = parseFn;
  };
  TypeOverrides.prototype.getTypeParser = function(oid, format) {
    format = format || "text";
    return this.getOverrides(format)[oid] || this._types.getTypeParser(oid, format);
  };
  module.exports = TypeOverrides;
});

// ../../node_modules/pg-connection-string/index.js
var require_pg_connection_string = __commonJS(function(exports, module) {
  function parse(str, options = {}) {
    if (str.charAt(0) === "/") {
      const config = str.split(" ");
      return { host: config[0], database: config[1] };
    }
    const config = Object.create(null);
    let result;
    let dummyHost = false;
    if (/ |%[^a-f0-9]|%[a-f0-9][^a-f0-9]/i.test(str)) {
      str = encodeURI(str).replace(/%25(\d\d)/g, "%$1");
    }
    try {
      try {
        result = new URL(str, "postgres://base");
      } catch (e) {
        result = new URL(str.replace("@/", "@___DUMMY___/"), "postgres://base");
        dummyHost = true;
      }
    } catch (err) {
      err.input && (err.input = "*****REDACTED*****");
      throw err;
    }
    for (const entry of result.searchParams.entries()) {
      config[entry[0]] = entry[1];
    }
    config.user = config.user || decodeURIComponent(result.username);
    config.password = config.password || decodeURIComponent(result.password);
    if (result.protocol == "socket:") {
      config.host = decodeURI(result.pathname);
      config.database = result.searchParams.get("db");
      config.client_encoding = result.searchParams.get("encoding");
      return config;
    }
    const hostname = (dummyHost ? "" : result.hostname).replace(/^\[(.+)\]$/, "$1");
    if (!config.host) {
      config.host = decodeURIComponent(hostname);
    } else if (hostname && /^%2f/i.test(hostname)) {
      result.pathname = hostname + result.pathname;
    }
    if (!config.port) {
      config.port = result.port;
    }
    const pathname = result.pathname.slice(1) || null;
    config.database = pathname ? decodeURI(pathname) : null;
    if (config.ssl === "true" || config.ssl === "1") {
      config.ssl = true;
    }
    if (config.ssl === "0") {
      config.ssl = false;
    }
    if (config.sslcert || config.sslkey || config.sslrootcert || config.sslmode) {
      config.ssl = {};
    }
    if (config.sslnegotiation === "direct" && config.ssl === undefined) {
      config.ssl = true;
    }
    const fs = config.sslcert || config.sslkey || config.sslrootcert ? __require("fs") : null;
    if (config.sslcert) {
      config.ssl.cert = fs.readFileSync(config.sslcert).toString();
    }
    if (config.sslkey) {
      config.ssl.key = fs.readFileSync(config.sslkey).toString();
    }
    if (config.sslrootcert) {
      config.ssl.ca = fs.readFileSync(config.sslrootcert).toString();
    }
    if (options.useLibpqCompat && config.uselibpqcompat) {
      throw new Error("Both useLibpqCompat and uselibpqcompat are set. Please use only one of them.");
    }
    if (config.uselibpqcompat === "true" || options.useLibpqCompat) {
      switch (config.sslmode) {
        case "disable": {
          config.ssl = false;
          break;
        }
        case "prefer": {
          config.ssl.rejectUnauthorized = false;
          break;
        }
        case "require": {
          if (config.sslrootcert) {
            config.ssl.checkServerIdentity = function() {};
          } else {
            config.ssl.rejectUnauthorized = false;
          }
          break;
        }
        case "verify-ca": {
          if (!config.ssl.ca) {
            throw new Error("SECURITY WARNING: Using sslmode=verify-ca requires specifying a CA with sslrootcert. If a public CA is used, verify-ca allows connections to a server that somebody else may have registered with the CA, making you vulnerable to Man-in-the-Middle attacks. Either specify a custom CA certificate with sslrootcert parameter or use sslmode=verify-full for proper security.");
          }
          config.ssl.checkServerIdentity = function() {};
          break;
        }
        case "verify-full": {
          break;
        }
      }
    } else {
      switch (config.sslmode) {
        case "disable": {
          config.ssl = false;
          break;
        }
        case "prefer":
        case "require":
        case "verify-ca":
        case "verify-full": {
          if (config.sslmode !== "verify-full") {
            deprecatedSslModeWarning(config.sslmode);
          }
          break;
        }
        case "no-verify": {
          config.ssl.rejectUnauthorized = false;
          break;
        }
      }
    }
    return config;
  }
  function toConnectionOptions(sslConfig) {
    const connectionOptions = Object.entries(sslConfig).reduce((c, [key, value]) => {
      if (value !== undefined && value !== null) {
        c[key] = value;
      }
      return c;
    }, Object.create(null));
    return connectionOptions;
  }
  function toClientConfig(config) {
    const poolConfig = Object.entries(config).reduce((c, [key, value]) => {
      if (key === "ssl") {
        const sslConfig = value;
        if (typeof sslConfig === "boolean") {
          c[key] = sslConfig;
        }
        if (typeof sslConfig === "object") {
          c[key] = toConnectionOptions(sslConfig);
        }
      } else if (value !== undefined && value !== null) {
        if (key === "port") {
          if (value !== "") {
            const v = parseInt(value, 10);
            if (isNaN(v)) {
              throw new Error(`Invalid ${key}: ${value}`);
            }
            c[key] = v;
          }
        } else {
          c[key] = value;
        }
      }
      return c;
    }, Object.create(null));
    return poolConfig;
  }
  function parseIntoClientConfig(str) {
    return toClientConfig(parse(str));
  }
  function deprecatedSslModeWarning(sslmode) {
    if (!deprecatedSslModeWarning.warned && typeof process !== "undefined" && process.emitWarning) {
      deprecatedSslModeWarning.warned = true;
      process.emitWarning(`SECURITY WARNING: The SSL modes 'prefer', 'require', and 'verify-ca' are treated as aliases for 'verify-full'.
In the next major version (pg-connection-string v3.0.0 and pg v9.0.0), these modes will adopt standard libpq semantics, which have weaker security guarantees.

To prepare for this change:
- If you want the current behavior, explicitly use 'sslmode=verify-full'
- If you want libpq compatibility now, use 'uselibpqcompat=true&sslmode=${sslmode}'

See https://www.postgresql.org/docs/current/libpq-ssl.html for libpq SSL mode definitions.`);
    }
  }
  module.exports = parse;
  parse.parse = parse;
  parse.toClientConfig = toClientConfig;
  parse.parseIntoClientConfig = parseIntoClientConfig;
});

// ../../node_modules/pg/lib/connection-parameters.js
var require_connection_parameters = __commonJS(function(exports, module) {
  var dns = __require("dns");
  var defaults = require_defaults();
  var parse = require_pg_connection_string().parse;
  var val = function(key, config, envVar) {
    if (config[key]) {
      return config[key];
    }
    if (envVar === undefined) {
      envVar = process.env["PG" + key.toUpperCase()];
    } else if (envVar === false) {} else {
      envVar = process.env[envVar];
    }
    return envVar || defaults[key];
  };
  var readSSLConfigFromEnvironment = function() {
    switch (process.env.PGSSLMODE) {
      case "disable":
        return false;
      case "prefer":
      case "require":
      case "verify-ca":
      case "verify-full":
        return true;
      case "no-verify":
        return { rejectUnauthorized: false };
    }
    return defaults.ssl;
  };
  var quoteParamValue = function(value) {
    return "'" + ("" + value).replace(/\\/g, "\\\\").replace(/'/g, "\\'") + "'";
  };
  var add = function(params, config, paramName) {
    const value = config[paramName];
    if (value !== undefined && value !== null) {
      params.push(paramName + "=" + quoteParamValue(value));
    }
  };

  class ConnectionParameters {
    constructor(config) {
      config = typeof config === "string" ? parse(config) : config || {};
      if (config.connectionString) {
        config = Object.assign({}, config, parse(config.connectionString));
      }
      this.user = val("user", config);
      this.database = val("database", config);
      if (this.database === undefined) {
        this.database = this.user;
      }
      this.port = parseInt(val("port", config), 10);
      this.host = val("host", config);
      Object.defineProperty(this, "password", {
        configurable: true,
        enumerable: false,
        writable: true,
        value: val("password", config)
      });
      this.binary = val("binary", config);
      this.options = val("options", config);
      this.ssl = typeof config.ssl === "undefined" ? readSSLConfigFromEnvironment() : config.ssl;
      if (typeof this.ssl === "string") {
        if (this.ssl === "true") {
          this.ssl = true;
        }
      }
      if (this.ssl === "no-verify") {
        this.ssl = { rejectUnauthorized: false };
      }
      if (this.ssl && this.ssl.key) {
        Object.defineProperty(this.ssl, "key", {
          enumerable: false
        });
      }
      this.sslnegotiation = val("sslnegotiation", config, "PGSSLNEGOTIATION");
      if (this.sslnegotiation !== undefined && this.sslnegotiation !== "postgres" && this.sslnegotiation !== "direct") {
        throw new Error(`Invalid sslnegotiation value: "${this.sslnegotiation}". Valid values are "postgres" and "direct".`);
      }
      if (this.sslnegotiation === "direct" && !this.ssl) {
        throw new Error("sslnegotiation=direct requires SSL to be enabled");
      }
      this.client_encoding = val("client_encoding", config);
      this.replication = val("replication", config);
      this.isDomainSocket = !(this.host || "").indexOf("/");
      this.application_name = val("application_name", config, "PGAPPNAME");
      this.fallback_application_name = val("fallback_application_name", config, false);
      this.statement_timeout = val("statement_timeout", config, false);
      this.lock_timeout = val("lock_timeout", config, false);
      this.idle_in_transaction_session_timeout = val("idle_in_transaction_session_timeout", config, false);
      this.query_timeout = val("query_timeout", config, false);
      if (config.connectionTimeoutMillis === undefined) {
        this.connect_timeout = process.env.PGCONNECT_TIMEOUT || 0;
      } else {
        this.connect_timeout = Math.floor(config.connectionTimeoutMillis / 1000);
      }
      if (config.keepAlive === false) {
        this.keepalives = 0;
      } else if (config.keepAlive === true) {
        this.keepalives = 1;
      }
      if (typeof config.keepAliveInitialDelayMillis === "number") {
        this.keepalives_idle = Math.floor(config.keepAliveInitialDelayMillis / 1000);
      }
    }
    getLibpqConnectionString(cb) {
      const params = [];
      add(params, this, "user");
      add(params, this, "password");
      add(params, this, "port");
      add(params, this, "application_name");
      add(params, this, "fallback_application_name");
      add(params, this, "connect_timeout");
      add(params, this, "options");
      const ssl = typeof this.ssl === "object" ? this.ssl : this.ssl ? { sslmode: this.ssl } : {};
      add(params, ssl, "sslmode");
      add(params, ssl, "sslca");
      add(params, ssl, "sslkey");
      add(params, ssl, "sslcert");
      add(params, ssl, "sslrootcert");
      add(params, this, "sslnegotiation");
      if (this.database) {
        params.push("dbname=" + quoteParamValue(this.database));
      }
      if (this.replication) {
        params.push("replication=" + quoteParamValue(this.replication));
      }
      if (this.host) {
        params.push("host=" + quoteParamValue(this.host));
      }
      if (this.isDomainSocket) {
        return cb(null, params.join(" "));
      }
      if (this.client_encoding) {
        params.push("client_encoding=" + quoteParamValue(this.client_encoding));
      }
      dns.lookup(this.host, function(err, address) {
        if (err)
          return cb(err, null);
        params.push("hostaddr=" + quoteParamValue(address));
        return cb(null, params.join(" "));
      });
    }
  }
  module.exports = ConnectionParameters;
});

// ../../node_modules/pg/lib/result.js
var require_result = __commonJS(function(exports, module) {
  var types = require_pg_types();
  var matchRegexp = /^([A-Za-z]+)(?: (\d+))?(?: (\d+))?/;

  class Result {
    constructor(rowMode, types) {
      this.command = null;
      this.rowCount = null;
      this.oid = null;
      this.rows = [];
      this.fields = [];
      this._parsers = undefined;
      this._types = types;
      this.RowCtor = null;
      this.rowAsArray = rowMode === "array";
      if (this.rowAsArray) {
        this.parseRow = this._parseRowAsArray;
      }
      this._prebuiltEmptyResultObject = null;
    }
    addCommandComplete(msg) {
      let match;
      if (msg.text) {
        match = matchRegexp.exec(msg.text);
      } else {
        match = matchRegexp.exec(msg.command);
      }
      if (match) {
        this.command = match[1];
        if (match[3]) {
          this.oid = parseInt(match[2], 10);
          this.rowCount = parseInt(match[3], 10);
        } else if (match[2]) {
          this.rowCount = parseInt(match[2], 10);
        }
      }
    }
    _parseRowAsArray(rowData) {
      const row = new Array(rowData.length);
      for (let i = 0, len = rowData.length;i < len; i++) {
        const rawValue = rowData[i];
        if (rawValue !== null) {
          row[i] = this._parsers[i](rawValue);
        } else {
          row[i] = null;
        }
      }
      return row;
    }
    parseRow(rowData) {
      const row = { ...this._prebuiltEmptyResultObject };
      for (let i = 0, len = rowData.length;i < len; i++) {
        const rawValue = rowData[i];
        const field = this.fields[i].name;
        if (rawValue !== null) {
          const v = this.fields[i].format === "binary" ? Buffer.from(rawValue) : rawValue;
          row[field] = this._parsers[i](v);
        } else {
          row[field] = null;
        }
      }
      return row;
    }
    addRow(row) {
      this.rows.push(row);
    }
    addFields(fieldDescriptions) {
      this.fields = fieldDescriptions;
      if (this.fields.length) {
        this._parsers = new Array(fieldDescriptions.length);
      }
      const row = Object.create(null);
      for (let i = 0;i < fieldDescriptions.length; i++) {
        const desc = fieldDescriptions[i];
        row[desc.name] = null;
        if (this._types) {
          this._parsers[i] = this._types.getTypeParser(desc.dataTypeID, desc.format || "text");
        } else {
          this._parsers[i] = types.getTypeParser(desc.dataTypeID, desc.format || "text");
        }
      }
      this._prebuiltEmptyResultObject = { ...row };
    }
  }
  module.exports = Result;
});

// ../../node_modules/pg/lib/query.js
var require_query = __commonJS(function(exports, module) {
  var { EventEmitter } = __require("events");
  var Result = require_result();
  var utils = require_utils();

  class Query extends EventEmitter {
    constructor(config, values, callback) {
      super();
      config = utils.normalizeQueryConfig(config, values, callback);
      this.text = config.text;
      this.values = config.values;
      this.rows = config.rows;
      this.types = config.types;
      this.name = config.name;
      this.queryMode = config.queryMode;
      this.binary = config.binary;
      this.portal = config.portal || "";
      this.callback = config.callback;
      this._rowMode = config.rowMode;
      if (process.domain && config.callback) {
        this.callback = process.domain.bind(config.callback);
      }
      this._result = new Result(this._rowMode, this.types);
      this._results = this._result;
      this._canceledDueToError = false;
    }
    requiresPreparation() {
      if (this.queryMode === "extended") {
        return true;
      }
      if (this.name) {
        return true;
      }
      if (this.rows) {
        return true;
      }
      if (!this.text) {
        return false;
      }
      if (!this.values) {
        return false;
      }
      return this.values.length > 0;
    }
    _checkForMultirow() {
      if (this._result.command) {
        if (!Array.isArray(this._results)) {
          this._results = [this._result];
        }
        this._result = new Result(this._rowMode, this._result._types);
        this._results.push(this._result);
      }
    }
    handleRowDescription(msg) {
      this._checkForMultirow();
      this._result.addFields(msg.fields);
      this._accumulateRows = this.callback || !this.listeners("row").length;
    }
    handleDataRow(msg) {
      let row;
      if (this._canceledDueToError) {
        return;
      }
      try {
        row = this._result.parseRow(msg.fields);
      } catch (err) {
        this._canceledDueToError = err;
        return;
      }
      this.emit("row", row, this._result);
      if (this._accumulateRows) {
        this._result.addRow(row);
      }
    }
    handleCommandComplete(msg, connection) {
      this._checkForMultirow();
      this._result.addCommandComplete(msg);
      if (this.rows) {
        connection.sync();
      }
    }
    handleEmptyQuery(connection) {
      if (this.rows) {
        connection.sync();
      }
    }
    handleError(err, connection) {
      if (this._canceledDueToError) {
        err = this._canceledDueToError;
        this._canceledDueToError = false;
      }
      if (this.callback) {
        return this.callback(err);
      }
      this.emit("error", err);
    }
    handleReadyForQuery(con) {
      if (this._canceledDueToError) {
        return this.handleError(this._canceledDueToError, con);
      }
      if (this.callback) {
        try {
          this.callback(null, this._results);
        } catch (err) {
          process.nextTick(() => {
            throw err;
          });
        }
      }
      this.emit("end", this._results);
    }
    submit(connection) {
      if (typeof this.text !== "string" && typeof this.name !== "string") {
        return new Error("A query must have either text or a name. Supplying neither is unsupported.");
      }
      const previous = connection.parsedStatements[this.name] || connection.submittedNamedStatements[this.name];
      if (this.text && previous && this.text !== previous) {
        return new Error(`Prepared statements must be unique - '${this.name}' was used for a different statement`);
      }
      if (this.values && !Array.isArray(this.values)) {
        return new Error("Query values must be an array");
      }
      if (this.requiresPreparation()) {
        connection.stream.cork && connection.stream.cork();
        try {
          this.prepare(connection);
        } finally {
          connection.stream.uncork && connection.stream.uncork();
        }
      } else {
        connection.query(this.text);
      }
      return null;
    }
    hasBeenParsed(connection) {
      return this.name && (connection.parsedStatements[this.name] !== undefined || connection.submittedNamedStatements[this.name] !== undefined);
    }
    handlePortalSuspended(connection) {
      this._getRows(connection, this.rows);
    }
    _getRows(connection, rows) {
      connection.execute({
        portal: this.portal,
        rows
      });
      if (!rows) {
        connection.sync();
      } else {
        connection.flush();
      }
    }
    prepare(connection) {
      if (!this.hasBeenParsed(connection)) {
        connection.parse({
          text: this.text,
          name: this.name,
          types: this.types
        });
        if (this.name) {
          connection.submittedNamedStatements[this.name] = this.text;
        }
      }
      try {
        connection.bind({
          portal: this.portal,
          statement: this.name,
          values: this.values,
          binary: this.binary,
          valueMapper: utils.prepareValue
        });
      } catch (err) {
        connection.close({ type: "S", name: this.name });
        connection.sync();
        this.handleError(err, connection);
        return;
      }
      connection.describe({
        type: "P",
        name: this.portal || ""
      });
      this._getRows(connection, this.rows);
    }
    handleCopyInResponse(connection) {
      connection.sendCopyFail("No source stream defined");
    }
    handleCopyData(msg, connection) {}
  }
  module.exports = Query;
});

// ../../node_modules/pg-protocol/dist/messages.js
var require_messages = __commonJS(function(exports) {
  Object.defineProperty(exports, "__esModule", { value: true });
  exports.NoticeMessage = exports.DataRowMessage = exports.CommandCompleteMessage = exports.ReadyForQueryMessage = exports.NotificationResponseMessage = exports.BackendKeyDataMessage = exports.AuthenticationMD5Password = exports.ParameterStatusMessage = exports.ParameterDescriptionMessage = exports.RowDescriptionMessage = exports.Field = exports.CopyResponse = exports.CopyDataMessage = exports.DatabaseError = exports.copyDone = exports.emptyQuery = exports.replicationStart = exports.portalSuspended = exports.noData = exports.closeComplete = exports.bindComplete = exports.parseComplete = undefined;
  exports.parseComplete = {
    name: "parseComplete",
    length: 5
  };
  exports.bindComplete = {
    name: "bindComplete",
    length: 5
  };
  exports.closeComplete = {
    name: "closeComplete",
    length: 5
  };
  exports.noData = {
    name: "noData",
    length: 5
  };
  exports.portalSuspended = {
    name: "portalSuspended",
    length: 5
  };
  exports.replicationStart = {
    name: "replicationStart",
    length: 4
  };
  exports.emptyQuery = {
    name: "emptyQuery",
    length: 4
  };
  exports.copyDone = {
    name: "copyDone",
    length: 4
  };

  class DatabaseError extends Error {
    constructor(message, length, name) {
      super(message);
      this.length = length;
      this.name = name;
    }
  }
  exports.DatabaseError = DatabaseError;

  class CopyDataMessage {
    constructor(length, chunk) {
      this.length = length;
      this.chunk = chunk;
      this.name = "copyData";
    }
  }
  exports.CopyDataMessage = CopyDataMessage;

  class CopyResponse {
    constructor(length, name, binary, columnCount) {
      this.length = length;
      this.name = name;
      this.binary = binary;
      this.columnTypes = new Array(columnCount);
    }
  }
  exports.CopyResponse = CopyResponse;

  class Field {
    constructor(name, tableID, columnID, dataTypeID, dataTypeSize, dataTypeModifier, format) {
      this.name = name;
      this.tableID = tableID;
      this.columnID = columnID;
      this.dataTypeID = dataTypeID;
      this.dataTypeSize = dataTypeSize;
      this.dataTypeModifier = dataTypeModifier;
      this.format = format;
    }
  }
  exports.Field = Field;

  class RowDescriptionMessage {
    constructor(length, fieldCount) {
      this.length = length;
      this.fieldCount = fieldCount;
      this.name = "rowDescription";
      this.fields = new Array(this.fieldCount);
    }
  }
  exports.RowDescriptionMessage = RowDescriptionMessage;

  class ParameterDescriptionMessage {
    constructor(length, parameterCount) {
      this.length = length;
      this.parameterCount = parameterCount;
      this.name = "parameterDescription";
      this.dataTypeIDs = new Array(this.parameterCount);
    }
  }
  exports.ParameterDescriptionMessage = ParameterDescriptionMessage;

  class ParameterStatusMessage {
    constructor(length, parameterName, parameterValue) {
      this.length = length;
      this.parameterName = parameterName;
      this.parameterValue = parameterValue;
      this.name = "parameterStatus";
    }
  }
  exports.ParameterStatusMessage = ParameterStatusMessage;

  class AuthenticationMD5Password {
    constructor(length, salt) {
      this.length = length;
      this.salt = salt;
      this.name = "authenticationMD5Password";
    }
  }
  exports.AuthenticationMD5Password = AuthenticationMD5Password;

  class BackendKeyDataMessage {
    constructor(length, processID, secretKey) {
      this.length = length;
      this.processID = processID;
      this.secretKey = secretKey;
      this.name = "backendKeyData";
    }
  }
  exports.BackendKeyDataMessage = BackendKeyDataMessage;

  class NotificationResponseMessage {
    constructor(length, processId, channel, payload) {
      this.length = length;
      this.processId = processId;
      this.channel = channel;
      this.payload = payload;
      this.name = "notification";
    }
  }
  exports.NotificationResponseMessage = NotificationResponseMessage;

  class ReadyForQueryMessage {
    constructor(length, status) {
      this.length = length;
      this.status = status;
      this.name = "readyForQuery";
    }
  }
  exports.ReadyForQueryMessage = ReadyForQueryMessage;

  class CommandCompleteMessage {
    constructor(length, text) {
      this.length = length;
      this.text = text;
      this.name = "commandComplete";
    }
  }
  exports.CommandCompleteMessage = CommandCompleteMessage;

  class DataRowMessage {
    constructor(length, fields) {
      this.length = length;
      this.fields = fields;
      this.name = "dataRow";
      this.fieldCount = fields.length;
    }
  }
  exports.DataRowMessage = DataRowMessage;

  class NoticeMessage {
    constructor(length, message) {
      this.length = length;
      this.message = message;
      this.name = "notice";
    }
  }
  exports.NoticeMessage = NoticeMessage;
});

// ../../node_modules/pg-protocol/dist/buffer-writer.js
var require_buffer_writer = __commonJS(function(exports) {
  Object.defineProperty(exports, "__esModule", { value: true });
  exports.Writer = undefined;

  class Writer {
    constructor(size = 256) {
      this.size = size;
      this.offset = 5;
      this.headerPosition = 0;
      this.buffer = Buffer.allocUnsafe(size);
    }
    ensure(size) {
      const remaining = this.buffer.length - this.offset;
      if (remaining < size) {
        const oldBuffer = this.buffer;
        const newSize = oldBuffer.length + (oldBuffer.length >> 1) + size;
        this.buffer = Buffer.allocUnsafe(newSize);
        oldBuffer.copy(this.buffer, 0, 0, this.offset);
      }
    }
    addInt32(num) {
      this.ensure(4);
      this.buffer[this.offset++] = num >>> 24 & 255;
      this.buffer[this.offset++] = num >>> 16 & 255;
      this.buffer[this.offset++] = num >>> 8 & 255;
      this.buffer[this.offset++] = num >>> 0 & 255;
      return this;
    }
    addInt16(num) {
      this.ensure(2);
      this.buffer[this.offset++] = num >>> 8 & 255;
      this.buffer[this.offset++] = num >>> 0 & 255;
      return this;
    }
    addCString(string) {
      if (!string) {
        this.ensure(1);
      } else {
        const len = Buffer.byteLength(string);
        this.ensure(len + 1);
        this.buffer.write(string, this.offset, "utf-8");
        this.offset += len;
      }
      this.buffer[this.offset++] = 0;
      return this;
    }
    addString(string = "") {
      const len = Buffer.byteLength(string);
      this.ensure(len);
      this.buffer.write(string, this.offset);
      this.offset += len;
      return this;
    }
    addInt32PrefixedString(string) {
      const len = Buffer.byteLength(string);
      this.ensure(4 + len);
      const buffer = this.buffer;
      let offset = this.offset;
      buffer[offset++] = len >>> 24 & 255;
      buffer[offset++] = len >>> 16 & 255;
      buffer[offset++] = len >>> 8 & 255;
      buffer[offset++] = len >>> 0 & 255;
      buffer.write(string, offset, "utf-8");
      this.offset = offset + len;
      return this;
    }
    add(otherBuffer) {
      this.ensure(otherBuffer.length);
      otherBuffer.copy(this.buffer, this.offset);
      this.offset += otherBuffer.length;
      return this;
    }
    reserveUnsafe(size) {
      const offset = this.offset;
      this.ensure(size);
      this.offset += size;
      return offset;
    }
    join(code) {
      if (code) {
        this.buffer[this.headerPosition] = code;
        const length = this.offset - (this.headerPosition + 1);
        this.buffer.writeInt32BE(length, this.headerPosition + 1);
      }
      return this.buffer.slice(code ? 0 : 5, this.offset);
    }
    flush(code) {
      const result = this.join(code);
      this.offset = 5;
      this.headerPosition = 0;
      this.buffer = Buffer.allocUnsafe(this.size);
      return result;
    }
    clear() {
      this.offset = 5;
      this.headerPosition = 0;
    }
  }
  exports.Writer = Writer;
});

// ../../node_modules/pg-protocol/dist/serializer.js
var require_serializer = __commonJS(function(exports) {
  Object.defineProperty(exports, "__esModule", { value: true });
  exports.serialize = undefined;
  var buffer_writer_1 = require_buffer_writer();
  var writer = new buffer_writer_1.Writer;
  var startup = (opts) => {
    writer.addInt16(3).addInt16(0);
    for (const key of Object.keys(opts)) {
      writer.addCString(key).addCString(opts[key]);
    }
    writer.addCString("client_encoding").addCString("UTF8");
    const bodyBuffer = writer.addCString("").flush();
    const length = bodyBuffer.length + 4;
    return new buffer_writer_1.Writer().addInt32(length).add(bodyBuffer).flush();
  };
  var requestSsl = () => {
    const response = Buffer.allocUnsafe(8);
    response.writeInt32BE(8, 0);
    response.writeInt32BE(80877103, 4);
    return response;
  };
  var password = (password) => {
    return writer.addCString(password).flush(112);
  };
  var sendSASLInitialResponseMessage = function(mechanism, initialResponse) {
    writer.addCString(mechanism).addInt32PrefixedString(initialResponse);
    return writer.flush(112);
  };
  var sendSCRAMClientFinalMessage = function(additionalData) {
    return writer.addString(additionalData).flush(112);
  };
  var query = (text) => {
    return writer.addCString(text).flush(81);
  };
  var emptyArray = [];
  var parse = (query) => {
    const name = query.name || "";
    if (name.length > 63) {
      console.error("Warning! Postgres only supports 63 characters for query names.");
      console.error("You supplied %s (%s)", name, name.length);
      console.error("This can cause conflicts and silent errors executing queries");
    }
    const types = query.types || emptyArray;
    const len = types.length;
    const buffer = writer.addCString(name).addCString(query.text).addInt16(len);
    for (let i = 0;i < len; i++) {
      buffer.addInt32(types[i]);
    }
    return writer.flush(80);
  };
  var writeValues = function(values, valueMapper, formatsOffset) {
    const len = values.length;
    for (let i = 0;i < len; i++) {
      const mappedVal = valueMapper ? valueMapper(values[i], i) : values[i];
      let formatByte = 0;
      if (mappedVal == null) {
        writer.addInt32(-1);
      } else if (mappedVal instanceof Buffer) {
        formatByte = 1;
        writer.addInt32(mappedVal.length);
        writer.add(mappedVal);
      } else {
        writer.addInt32PrefixedString(mappedVal);
      }
      const buf = writer.buffer;
      buf[formatsOffset++] = 0;
      buf[formatsOffset++] = formatByte;
    }
  };
  var bind = (config = {}) => {
    const portal = config.portal || "";
    const statement = config.statement || "";
    const binary = config.binary || false;
    const values = config.values || emptyArray;
    const len = values.length;
    writer.addCString(portal).addCString(statement);
    writer.addInt16(len);
    const formatsOffset = writer.reserveUnsafe(len * 2);
    writer.addInt16(len);
    try {
      writeValues(values, config.valueMapper, formatsOffset);
    } catch (err) {
      writer.clear();
      throw err;
    }
    writer.addInt16(1);
    writer.addInt16(binary ? 1 : 0);
    return writer.flush(66);
  };
  var emptyExecute = Buffer.from([69, 0, 0, 0, 9, 0, 0, 0, 0, 0]);
  var execute = (config) => {
    if (!config || !config.portal && !config.rows) {
      return emptyExecute;
    }
    const portal = config.portal || "";
    const rows = config.rows || 0;
    const portalLength = Buffer.byteLength(portal);
    const len = 4 + portalLength + 1 + 4;
    const buff = Buffer.allocUnsafe(1 + len);
    buff[0] = 69;
    buff.writeInt32BE(len, 1);
    buff.write(portal, 5, "utf-8");
    buff[portalLength + 5] = 0;
    buff.writeUInt32BE(rows, buff.length - 4);
    return buff;
  };
  var cancel = (processID, secretKey) => {
    const buffer = Buffer.allocUnsafe(16);
    buffer.writeInt32BE(16, 0);
    buffer.writeInt16BE(1234, 4);
    buffer.writeInt16BE(5678, 6);
    buffer.writeInt32BE(processID, 8);
    buffer.writeInt32BE(secretKey, 12);
    return buffer;
  };
  var cstringMessage = (code, string) => {
    const stringLen = Buffer.byteLength(string);
    const len = 4 + stringLen + 1;
    const buffer = Buffer.allocUnsafe(1 + len);
    buffer[0] = code;
    buffer.writeInt32BE(len, 1);
    buffer.write(string, 5, "utf-8");
    buffer[len] = 0;
    return buffer;
  };
  var emptyDescribePortal = writer.addCString("P").flush(68);
  var emptyDescribeStatement = writer.addCString("S").flush(68);
  var describe = (msg) => {
    return msg.name ? cstringMessage(68, `${msg.type}${msg.name || ""}`) : msg.type === "P" ? emptyDescribePortal : emptyDescribeStatement;
  };
  var close = (msg) => {
    const text = `${msg.type}${msg.name || ""}`;
    return cstringMessage(67, text);
  };
  var copyData = (chunk) => {
    return writer.add(chunk).flush(100);
  };
  var copyFail = (message) => {
    return cstringMessage(102, message);
  };
  var codeOnlyBuffer = (code) => Buffer.from([code, 0, 0, 0, 4]);
  var flushBuffer = codeOnlyBuffer(72);
  var syncBuffer = codeOnlyBuffer(83);
  var endBuffer = codeOnlyBuffer(88);
  var copyDoneBuffer = codeOnlyBuffer(99);
  var serialize = {
    startup,
    password,
    requestSsl,
    sendSASLInitialResponseMessage,
    sendSCRAMClientFinalMessage,
    query,
    parse,
    bind,
    execute,
    describe,
    close,
    flush: () => flushBuffer,
    sync: () => syncBuffer,
    end: () => endBuffer,
    copyData,
    copyDone: () => copyDoneBuffer,
    copyFail,
    cancel
  };
  exports.serialize = serialize;
});

// ../../node_modules/pg-protocol/dist/buffer-reader.js
var require_buffer_reader = __commonJS(function(exports) {
  Object.defineProperty(exports, "__esModule", { value: true });
  exports.BufferReader = undefined;

  class BufferReader {
    constructor(offset = 0) {
      this.offset = offset;
      this.buffer = Buffer.allocUnsafe(0);
      this.encoding = "utf-8";
    }
    setBuffer(offset, buffer) {
      this.offset = offset;
      this.buffer = buffer;
    }
    int16() {
      const result = this.buffer.readInt16BE(this.offset);
      this.offset += 2;
      return result;
    }
    byte() {
      const result = this.buffer[this.offset];
      this.offset++;
      return result;
    }
    int32() {
      const result = this.buffer.readInt32BE(this.offset);
      this.offset += 4;
      return result;
    }
    uint32() {
      const result = this.buffer.readUInt32BE(this.offset);
      this.offset += 4;
      return result;
    }
    string(length) {
      const result = this.buffer.toString(this.encoding, this.offset, this.offset + length);
      this.offset += length;
      return result;
    }
    cstring() {
      const start = this.offset;
      let end = start;
      while (this.buffer[end++]) {}
      this.offset = end;
      return this.buffer.toString(this.encoding, start, end - 1);
    }
    bytes(length) {
      const result = this.buffer.slice(this.offset, this.offset + length);
      this.offset += length;
      return result;
    }
  }
  exports.BufferReader = BufferReader;
});

// ../../node_modules/pg-protocol/dist/parser.js
var require_parser = __commonJS(function(exports) {
  Object.defineProperty(exports, "__esModule", { value: true });
  exports.Parser = undefined;
  var messages_1 = require_messages();
  var buffer_reader_1 = require_buffer_reader();
  var CODE_LENGTH = 1;
  var LEN_LENGTH = 4;
  var HEADER_LENGTH = CODE_LENGTH + LEN_LENGTH;
  var LATEINIT_LENGTH = -1;
  var emptyBuffer = Buffer.allocUnsafe(0);

  class Parser {
    constructor(opts) {
      this.buffer = emptyBuffer;
      this.bufferLength = 0;
      this.bufferOffset = 0;
      this.reader = new buffer_reader_1.BufferReader;
      if ((opts === null || opts === undefined ? undefined : opts.mode) === "binary") {
        throw new Error("Binary mode not supported yet");
      }
      this.mode = (opts === null || opts === undefined ? undefined : opts.mode) || "text";
    }
    parse(buffer, callback) {
      this.mergeBuffer(buffer);
      const bufferFullLength = this.bufferOffset + this.bufferLength;
      let offset = this.bufferOffset;
      while (offset + HEADER_LENGTH <= bufferFullLength) {
        const code = this.buffer[offset];
        const length = this.buffer.readUInt32BE(offset + CODE_LENGTH);
        const fullMessageLength = CODE_LENGTH + length;
        if (fullMessageLength + offset <= bufferFullLength) {
          const message = this.handlePacket(offset + HEADER_LENGTH, code, length, this.buffer);
          callback(message);
          offset += fullMessageLength;
        } else {
          break;
        }
      }
      if (offset === bufferFullLength) {
        this.buffer = emptyBuffer;
        this.bufferLength = 0;
        this.bufferOffset = 0;
      } else {
        this.bufferLength = bufferFullLength - offset;
        this.bufferOffset = offset;
      }
    }
    mergeBuffer(buffer) {
      if (this.bufferLength > 0) {
        const newLength = this.bufferLength + buffer.byteLength;
        const newFullLength = newLength + this.bufferOffset;
        if (newFullLength > this.buffer.byteLength) {
          let newBuffer;
          if (newLength <= this.buffer.byteLength && this.bufferOffset >= this.bufferLength) {
            newBuffer = this.buffer;
          } else {
            let newBufferLength = this.buffer.byteLength * 2;
            while (newLength >= newBufferLength) {
              newBufferLength *= 2;
            }
            newBuffer = Buffer.allocUnsafe(newBufferLength);
          }
          this.buffer.copy(newBuffer, 0, this.bufferOffset, this.bufferOffset + this.bufferLength);
          this.buffer = newBuffer;
          this.bufferOffset = 0;
        }
        buffer.copy(this.buffer, this.bufferOffset + this.bufferLength);
        this.bufferLength = newLength;
      } else {
        this.buffer = buffer;
        this.bufferOffset = 0;
        this.bufferLength = buffer.byteLength;
      }
    }
    handlePacket(offset, code, length, bytes) {
      const { reader } = this;
      reader.setBuffer(offset, bytes);
      let message;
      switch (code) {
        case 50:
          message = messages_1.bindComplete;
          break;
        case 49:
          message = messages_1.parseComplete;
          break;
        case 51:
          message = messages_1.closeComplete;
          break;
        case 110:
          message = messages_1.noData;
          break;
        case 115:
          message = messages_1.portalSuspended;
          break;
        case 99:
          message = messages_1.copyDone;
          break;
        case 87:
          message = messages_1.replicationStart;
          break;
        case 73:
          message = messages_1.emptyQuery;
          break;
        case 68:
          message = parseDataRowMessage(reader);
          break;
        case 67:
          message = parseCommandCompleteMessage(reader);
          break;
        case 90:
          message = parseReadyForQueryMessage(reader);
          break;
        case 65:
          message = parseNotificationMessage(reader);
          break;
        case 82:
          message = parseAuthenticationResponse(reader, length);
          break;
        case 83:
          message = parseParameterStatusMessage(reader);
          break;
        case 75:
          message = parseBackendKeyData(reader);
          break;
        case 69:
          message = parseErrorMessage(reader, "error");
          break;
        case 78:
          message = parseErrorMessage(reader, "notice");
          break;
        case 84:
          message = parseRowDescriptionMessage(reader);
          break;
        case 116:
          message = parseParameterDescriptionMessage(reader);
          break;
        case 71:
          message = parseCopyInMessage(reader);
          break;
        case 72:
          message = parseCopyOutMessage(reader);
          break;
        case 100:
          message = parseCopyData(reader, length);
          break;
        default:
          return new messages_1.DatabaseError("received invalid response: " + code.toString(16), length, "error");
      }
      reader.setBuffer(0, emptyBuffer);
      message.length = length;
      return message;
    }
  }
  exports.Parser = Parser;
  var parseReadyForQueryMessage = (reader) => {
    const status = reader.string(1);
    return new messages_1.ReadyForQueryMessage(LATEINIT_LENGTH, status);
  };
  var parseCommandCompleteMessage = (reader) => {
    const text = reader.cstring();
    return new messages_1.CommandCompleteMessage(LATEINIT_LENGTH, text);
  };
  var parseCopyData = (reader, length) => {
    const chunk = reader.bytes(length - 4);
    return new messages_1.CopyDataMessage(LATEINIT_LENGTH, chunk);
  };
  var parseCopyInMessage = (reader) => parseCopyMessage(reader, "copyInResponse");
  var parseCopyOutMessage = (reader) => parseCopyMessage(reader, "copyOutResponse");
  var parseCopyMessage = (reader, messageName) => {
    const isBinary = reader.byte() !== 0;
    const columnCount = reader.int16();
    const message = new messages_1.CopyResponse(LATEINIT_LENGTH, messageName, isBinary, columnCount);
    for (let i = 0;i < columnCount; i++) {
      message.columnTypes[i] = reader.int16();
    }
    return message;
  };
  var parseNotificationMessage = (reader) => {
    const processId = reader.int32();
    const channel = reader.cstring();
    const payload = reader.cstring();
    return new messages_1.NotificationResponseMessage(LATEINIT_LENGTH, processId, channel, payload);
  };
  var parseRowDescriptionMessage = (reader) => {
    const fieldCount = reader.int16();
    const message = new messages_1.RowDescriptionMessage(LATEINIT_LENGTH, fieldCount);
    for (let i = 0;i < fieldCount; i++) {
      message.fields[i] = parseField(reader);
    }
    return message;
  };
  var parseField = (reader) => {
    const name = reader.cstring();
    const tableID = reader.uint32();
    const columnID = reader.int16();
    const dataTypeID = reader.uint32();
    const dataTypeSize = reader.int16();
    const dataTypeModifier = reader.int32();
    const mode = reader.int16() === 0 ? "text" : "binary";
    return new messages_1.Field(name, tableID, columnID, dataTypeID, dataTypeSize, dataTypeModifier, mode);
  };
  var parseParameterDescriptionMessage = (reader) => {
    const parameterCount = reader.int16();
    const message = new messages_1.ParameterDescriptionMessage(LATEINIT_LENGTH, parameterCount);
    for (let i = 0;i < parameterCount; i++) {
      message.dataTypeIDs[i] = reader.uint32();
    }
    return message;
  };
  var parseDataRowMessage = (reader) => {
    const fieldCount = reader.int16();
    const fields = new Array(fieldCount);
    for (let i = 0;i < fieldCount; i++) {
      const len = reader.int32();
      fields[i] = len === -1 ? null : reader.string(len);
    }
    return new messages_1.DataRowMessage(LATEINIT_LENGTH, fields);
  };
  var parseParameterStatusMessage = (reader) => {
    const name = reader.cstring();
    const value = reader.cstring();
    return new messages_1.ParameterStatusMessage(LATEINIT_LENGTH, name, value);
  };
  var parseBackendKeyData = (reader) => {
    const processID = reader.int32();
    const secretKey = reader.int32();
    return new messages_1.BackendKeyDataMessage(LATEINIT_LENGTH, processID, secretKey);
  };
  var parseAuthenticationResponse = (reader, length) => {
    const code = reader.int32();
    const message = {
      name: "authenticationOk",
      length
    };
    switch (code) {
      case 0:
        break;
      case 3:
        if (message.length === 8) {
          message.name = "authenticationCleartextPassword";
        }
        break;
      case 5:
        if (message.length === 12) {
          message.name = "authenticationMD5Password";
          const salt = reader.bytes(4);
          return new messages_1.AuthenticationMD5Password(LATEINIT_LENGTH, salt);
        }
        break;
      case 10:
        {
          message.name = "authenticationSASL";
          message.mechanisms = [];
          let mechanism;
          do {
            mechanism = reader.cstring();
            if (mechanism) {
              message.mechanisms.push(mechanism);
            }
          } while (mechanism);
        }
        break;
      case 11:
        message.name = "authenticationSASLContinue";
        message.data = reader.string(length - 8);
        break;
      case 12:
        message.name = "authenticationSASLFinal";
        message.data = reader.string(length - 8);
        break;
      default:
        throw new Error("Unknown authenticationOk message type " + code);
    }
    return message;
  };
  var parseErrorMessage = (reader, name) => {
    const fields = {};
    let fieldType = reader.string(1);
    while (fieldType !== "\x00") {
      fields[fieldType] = reader.cstring();
      fieldType = reader.string(1);
    }
    const messageValue = fields.M;
    const message = name === "notice" ? new messages_1.NoticeMessage(LATEINIT_LENGTH, messageValue) : new messages_1.DatabaseError(messageValue, LATEINIT_LENGTH, name);
    message.severity = fields.S;
    message.code = fields.C;
    message.detail = fields.D;
    message.hint = fields.H;
    message.position = fields.P;
    message.internalPosition = fields.p;
    message.internalQuery = fields.q;
    message.where = fields.W;
    message.schema = fields.s;
    message.table = fields.t;
    message.column = fields.c;
    message.dataType = fields.d;
    message.constraint = fields.n;
    message.file = fields.F;
    message.line = fields.L;
    message.routine = fields.R;
    return message;
  };
});

// ../../node_modules/pg-protocol/dist/index.js
var require_dist = __commonJS(function(exports) {
  Object.defineProperty(exports, "__esModule", { value: true });
  exports.DatabaseError = exports.serialize = undefined;
  exports.parse = parse;
  var messages_1 = require_messages();
  Object.defineProperty(exports, "DatabaseError", { enumerable: true, get: function() {
    return messages_1.DatabaseError;
  } });
  var serializer_1 = require_serializer();
  Object.defineProperty(exports, "serialize", { enumerable: true, get: function() {
    return serializer_1.serialize;
  } });
  var parser_1 = require_parser();
  function parse(stream, callback) {
    const parser = new parser_1.Parser;
    stream.on("data", (buffer) => parser.parse(buffer, callback));
    return new Promise((resolve) => stream.on("end", () => resolve()));
  }
});

// ../../node_modules/pg-cloudflare/dist/empty.js
var require_empty = __commonJS(function(exports) {
  Object.defineProperty(exports, "__esModule", { value: true });
  exports.default = {};
});

// ../../node_modules/pg/lib/stream.js
var require_stream = __commonJS(function(exports, module) {
  var { getStream, getSecureStream } = getStreamFuncs();
  module.exports = {
    getStream,
    getSecureStream
  };
  function getNodejsStreamFuncs() {
    function getStream(ssl) {
      const net = __require("net");
      return new net.Socket;
    }
    function getSecureStream(options) {
      const tls = __require("tls");
      return tls.connect(options);
    }
    return {
      getStream,
      getSecureStream
    };
  }
  function getCloudflareStreamFuncs() {
    function getStream(ssl) {
      const { CloudflareSocket } = require_empty();
      return new CloudflareSocket(ssl);
    }
    function getSecureStream(options) {
      options.socket.startTls(options);
      return options.socket;
    }
    return {
      getStream,
      getSecureStream
    };
  }
  function isCloudflareRuntime() {
    if (typeof navigator === "object" && navigator !== null && typeof navigator.userAgent === "string") {
      return navigator.userAgent === "Cloudflare-Workers";
    }
    if (typeof Response === "function") {
      const resp = new Response(null, { cf: { thing: true } });
      if (typeof resp.cf === "object" && resp.cf !== null && resp.cf.thing) {
        return true;
      }
    }
    return false;
  }
  function getStreamFuncs() {
    if (isCloudflareRuntime()) {
      return getCloudflareStreamFuncs();
    }
    return getNodejsStreamFuncs();
  }
});

// ../../node_modules/pg/lib/connection.js
var require_connection = __commonJS(function(exports, module) {
  var EventEmitter = __require("events").EventEmitter;
  var { parse, serialize } = require_dist();
  var stream = require_stream();
  var { getStream } = stream;
  var flushBuffer = serialize.flush();
  var syncBuffer = serialize.sync();
  var endBuffer = serialize.end();

  class Connection extends EventEmitter {
    constructor(config) {
      super();
      config = config || {};
      this.stream = config.stream || getStream(config.ssl);
      if (typeof this.stream === "function") {
        this.stream = this.stream(config);
      }
      this._keepAlive = config.keepAlive;
      this._keepAliveInitialDelayMillis = config.keepAliveInitialDelayMillis;
      this.parsedStatements = {};
      this.submittedNamedStatements = {};
      this.ssl = config.ssl || false;
      this.sslNegotiation = config.sslNegotiation || "postgres";
      this._ending = false;
      this._emitMessage = false;
      const self = this;
      this.on("newListener", function(eventName) {
        if (eventName === "message") {
          self._emitMessage = true;
        }
      });
    }
    connect(port, host) {
      const self = this;
      this._connecting = true;
      this.stream.setNoDelay(true);
      this.stream.connect(port, host);
      this.stream.once("connect", function() {
        if (self._keepAlive) {
          self.stream.setKeepAlive(true, self._keepAliveInitialDelayMillis);
        }
        self.emit("connect");
      });
      const reportStreamError = function(error) {
        if (self._ending && (error.code === "ECONNRESET" || error.code === "EPIPE")) {
          return;
        }
        self.emit("error", error);
      };
      this.stream.on("error", reportStreamError);
      this.stream.on("close", function() {
        self.emit("end");
      });
      if (!this.ssl) {
        return this.attachListeners(this.stream);
      }
      if (this.sslNegotiation === "direct") {
        return this.stream.once("connect", function() {
          self.upgradeToSSL(host, reportStreamError);
        });
      }
      this.stream.once("data", function(buffer) {
        const responseCode = buffer.toString("utf8");
        switch (responseCode) {
          case "S":
            break;
          case "N":
            self.stream.end();
            return self.emit("error", new Error("The server does not support SSL connections"));
          default:
            self.stream.end();
            return self.emit("error", new Error("There was an error establishing an SSL connection"));
        }
        self.upgradeToSSL(host, reportStreamError);
      });
    }
    upgradeToSSL(host, reportStreamError) {
      const self = this;
      const options = {
        socket: self.stream,
        host
      };
      if (self.ssl !== true) {
        Object.assign(options, self.ssl);
        if ("key" in self.ssl) {
          options.key = self.ssl.key;
        }
      }
      if (self.sslNegotiation === "direct") {
        options.ALPNProtocols = ["postgresql"];
      }
      const net = __require("net");
      if (net.isIP && net.isIP(host) === 0) {
        options.servername = host;
      }
      try {
        self.stream = stream.getSecureStream(options);
      } catch (err) {
        return self.emit("error", err);
      }
      self.attachListeners(self.stream);
      self.stream.on("error", reportStreamError);
      self.emit("sslconnect");
    }
    attachListeners(stream) {
      parse(stream, (msg) => {
        const eventName = msg.name === "error" ? "errorMessage" : msg.name;
        if (this._emitMessage) {
          this.emit("message", msg);
        }
        this.emit(eventName, msg);
      });
    }
    requestSsl() {
      this.stream.write(serialize.requestSsl());
    }
    startup(config) {
      this.stream.write(serialize.startup(config));
    }
    cancel(processID, secretKey) {
      this._send(serialize.cancel(processID, secretKey));
    }
    password(password) {
      this._send(serialize.password(password));
    }
    sendSASLInitialResponseMessage(mechanism, initialResponse) {
      this._send(serialize.sendSASLInitialResponseMessage(mechanism, initialResponse));
    }
    sendSCRAMClientFinalMessage(additionalData) {
      this._send(serialize.sendSCRAMClientFinalMessage(additionalData));
    }
    _send(buffer) {
      if (!this.stream.writable) {
        return false;
      }
      return this.stream.write(buffer);
    }
    query(text) {
      this._send(serialize.query(text));
    }
    parse(query) {
      this._send(serialize.parse(query));
    }
    bind(config) {
      this._send(serialize.bind(config));
    }
    execute(config) {
      this._send(serialize.execute(config));
    }
    flush() {
      if (this.stream.writable) {
        this.stream.write(flushBuffer);
      }
    }
    sync() {
      this._send(syncBuffer);
    }
    ref() {
      this.stream.ref();
    }
    unref() {
      this.stream.unref();
    }
    end() {
      this._ending = true;
      if (!this._connecting || !this.stream.writable) {
        this.stream.end();
        return;
      }
      return this.stream.write(endBuffer, () => {
        this.stream.end();
      });
    }
    close(msg) {
      this._send(serialize.close(msg));
    }
    describe(msg) {
      this._send(serialize.describe(msg));
    }
    sendCopyFromChunk(chunk) {
      this._send(serialize.copyData(chunk));
    }
    endCopyFrom() {
      this._send(serialize.copyDone());
    }
    sendCopyFail(msg) {
      this._send(serialize.copyFail(msg));
    }
  }
  module.exports = Connection;
});

// ../../node_modules/split2/index.js
var require_split2 = __commonJS(function(exports, module) {
  var { Transform } = __require("stream");
  var { StringDecoder } = __require("string_decoder");
  var kLast = Symbol("last");
  var kDecoder = Symbol("decoder");
  function transform(chunk, enc, cb) {
    let list;
    if (this.overflow) {
      const buf = this[kDecoder].write(chunk);
      list = buf.split(this.matcher);
      if (list.length === 1)
        return cb();
      list.shift();
      this.overflow = false;
    } else {
      this[kLast] += this[kDecoder].write(chunk);
      list = this[kLast].split(this.matcher);
    }
    this[kLast] = list.pop();
    for (let i = 0;i < list.length; i++) {
      try {
        push(this, this.mapper(list[i]));
      } catch (error) {
        return cb(error);
      }
    }
    this.overflow = this[kLast].length > this.maxLength;
    if (this.overflow && !this.skipOverflow) {
      cb(new Error("maximum buffer reached"));
      return;
    }
    cb();
  }
  function flush(cb) {
    this[kLast] += this[kDecoder].end();
    if (this[kLast]) {
      try {
        push(this, this.mapper(this[kLast]));
      } catch (error) {
        return cb(error);
      }
    }
    cb();
  }
  function push(self, val) {
    if (val !== undefined) {
      self.push(val);
    }
  }
  function noop(incoming) {
    return incoming;
  }
  function split(matcher, mapper, options) {
    matcher = matcher || /\r?\n/;
    mapper = mapper || noop;
    options = options || {};
    switch (arguments.length) {
      case 1:
        if (typeof matcher === "function") {
          mapper = matcher;
          matcher = /\r?\n/;
        } else if (typeof matcher === "object" && !(matcher instanceof RegExp) && !matcher[Symbol.split]) {
          options = matcher;
          matcher = /\r?\n/;
        }
        break;
      case 2:
        if (typeof matcher === "function") {
          options = mapper;
          mapper = matcher;
          matcher = /\r?\n/;
        } else if (typeof mapper === "object") {
          options = mapper;
          mapper = noop;
        }
    }
    options = Object.assign({}, options);
    options.autoDestroy = true;
    options.transform = transform;
    options.flush = flush;
    options.readableObjectMode = true;
    const stream = new Transform(options);
    stream[kLast] = "";
    stream[kDecoder] = new StringDecoder("utf8");
    stream.matcher = matcher;
    stream.mapper = mapper;
    stream.maxLength = options.maxLength;
    stream.skipOverflow = options.skipOverflow || false;
    stream.overflow = false;
    stream._destroy = function(err, cb) {
      this._writableState.errorEmitted = false;
      cb(err);
    };
    return stream;
  }
  module.exports = split;
});

// ../../node_modules/pgpass/lib/helper.js
var require_helper = __commonJS(function(exports, module) {
  var path = __require("path");
  var Stream = __require("stream").Stream;
  var split = require_split2();
  var util = __require("util");
  var defaultPort = 5432;
  var isWin = process.platform === "win32";
  var warnStream = process.stderr;
  var S_IRWXG = 56;
  var S_IRWXO = 7;
  var S_IFMT = 61440;
  var S_IFREG = 32768;
  function isRegFile(mode) {
    return (mode & S_IFMT) == S_IFREG;
  }
  var fieldNames = ["host", "port", "database", "user", "password"];
  var nrOfFields = fieldNames.length;
  var passKey = fieldNames[nrOfFields - 1];
  function warn() {
    var isWritable = warnStream instanceof Stream && warnStream.writable === true;
    if (isWritable) {
      var args = Array.prototype.slice.call(arguments).concat(`
`);
      warnStream.write(util.format.apply(util, args));
    }
  }
  Object.defineProperty(exports, "isWin", {
    get: function() {
      return isWin;
    },
    set: function(val) {
      isWin = val;
    }
  });
  exports.warnTo = function(stream) {
    var old = warnStream;
    warnStream = stream;
    return old;
  };
  exports.getFileName = function(rawEnv) {
    var env = rawEnv || process.env;
    var file = env.PGPASSFILE || (isWin ? path.join(env.APPDATA || "./", "postgresql", "pgpass.conf") : path.join(env.HOME || "./", ".pgpass"));
    return file;
  };
  exports.usePgPass = function(stats, fname) {
    if (Object.prototype.hasOwnProperty.call(process.env, "PGPASSWORD")) {
      return false;
    }
    if (isWin) {
      return true;
    }
    fname = fname || "<unkn>";
    if (!isRegFile(stats.mode)) {
      warn('WARNING: password file "%s" is not a plain file', fname);
      return false;
    }
    if (stats.mode & (S_IRWXG | S_IRWXO)) {
      warn('WARNING: password file "%s" has group or world access; permissions should be u=rw (0600) or less', fname);
      return false;
    }
    return true;
  };
  var matcher = exports.match = function(connInfo, entry) {
    return fieldNames.slice(0, -1).reduce(function(prev, field, idx) {
      if (idx == 1) {
        if (Number(connInfo[field] || defaultPort) === Number(entry[field])) {
          return prev && true;
        }
      }
      return prev && (entry[field] === "*" || entry[field] === connInfo[field]);
    }, true);
  };
  exports.getPassword = function(connInfo, stream, cb) {
    var pass;
    var lineStream = stream.pipe(split());
    function onLine(line) {
      var entry = parseLine(line);
      if (entry && isValidEntry(entry) && matcher(connInfo, entry)) {
        pass = entry[passKey];
        lineStream.end();
      }
    }
    var onEnd = function() {
      stream.destroy();
      cb(pass);
    };
    var onErr = function(err) {
      stream.destroy();
      warn("WARNING: error on reading file: %s", err);
      cb(undefined);
    };
    stream.on("error", onErr);
    lineStream.on("data", onLine).on("end", onEnd).on("error", onErr);
  };
  var parseLine = exports.parseLine = function(line) {
    if (line.length < 11 || line.match(/^\s+#/)) {
      return null;
    }
    var curChar = "";
    var prevChar = "";
    var fieldIdx = 0;
    var startIdx = 0;
    var endIdx = 0;
    var obj = {};
    var isLastField = false;
    var addToObj = function(idx, i0, i1) {
      var field = line.substring(i0, i1);
      if (!Object.hasOwnProperty.call(process.env, "PGPASS_NO_DEESCAPE")) {
        field = field.replace(/\\([:\\])/g, "$1");
      }
      obj[fieldNames[idx]] = field;
    };
    for (var i = 0;i < line.length - 1; i += 1) {
      curChar = line.charAt(i + 1);
      prevChar = line.charAt(i);
      isLastField = fieldIdx == nrOfFields - 1;
      if (isLastField) {
        addToObj(fieldIdx, startIdx);
        break;
      }
      if (i >= 0 && curChar == ":" && prevChar !== "\\") {
        addToObj(fieldIdx, startIdx, i + 1);
        startIdx = i + 2;
        fieldIdx += 1;
      }
    }
    obj = Object.keys(obj).length === nrOfFields ? obj : null;
    return obj;
  };
  var isValidEntry = exports.isValidEntry = function(entry) {
    var rules = {
      0: function(x) {
        return x.length > 0;
      },
      1: function(x) {
        if (x === "*") {
          return true;
        }
        x = Number(x);
        return isFinite(x) && x > 0 && x < 9007199254740992 && Math.floor(x) === x;
      },
      2: function(x) {
        return x.length > 0;
      },
      3: function(x) {
        return x.length > 0;
      },
      4: function(x) {
        return x.length > 0;
      }
    };
    for (var idx = 0;idx < fieldNames.length; idx += 1) {
      var rule = rules[idx];
      var value = entry[fieldNames[idx]] || "";
      var res = rule(value);
      if (!res) {
        return false;
      }
    }
    return true;
  };
});

// ../../node_modules/pgpass/lib/index.js
var require_lib = __commonJS(function(exports, module) {
  var path = __require("path");
  var fs = __require("fs");
  var helper = require_helper();
  module.exports = function(connInfo, cb) {
    var file = helper.getFileName();
    fs.stat(file, function(err, stat) {
      if (err || !helper.usePgPass(stat, file)) {
        return cb(undefined);
      }
      var st = fs.createReadStream(file);
      helper.getPassword(connInfo, st, cb);
    });
  };
  module.exports.warnTo = helper.warnTo;
});

// ../../node_modules/pg/lib/client.js
var require_client = __commonJS(function(exports, module) {
  var EventEmitter = __require("events").EventEmitter;
  var utils = require_utils();
  var nodeUtils = __require("util");
  var sasl = require_sasl();
  var TypeOverrides = require_type_overrides();
  var ConnectionParameters = require_connection_parameters();
  var Query = require_query();
  var defaults = require_defaults();
  var Connection = require_connection();
  var crypto = require_utils2();
  var activeQueryDeprecationNotice = nodeUtils.deprecate(() => {}, "Client.activeQuery is deprecated and will be removed in pg@9.0");
  var queryQueueDeprecationNotice = nodeUtils.deprecate(() => {}, "Client.queryQueue is deprecated and will be removed in pg@9.0.");
  var pgPassDeprecationNotice = nodeUtils.deprecate(() => {}, "pgpass support is deprecated and will be removed in pg@9.0. " + "You can provide an async function as the password property to the Client/Pool constructor that returns a password instead. Within this function you can call the pgpass module in your own code.");
  var byoPromiseDeprecationNotice = nodeUtils.deprecate(() => {}, "Passing a custom Promise implementation to the Client/Pool constructor is deprecated and will be removed in pg@9.0.");
  var queryQueueLengthDeprecationNotice = nodeUtils.deprecate(() => {}, "Calling client.query() when the client is already executing a query is deprecated and will be removed in pg@9.0. Use async/await or an external async flow control mechanism instead.");
  function coerceNumberOrDefault(value, defaultValue) {
    if (typeof value === "number") {
      return Number.isFinite(value) ? value : defaultValue;
    }
    if (typeof value === "string" && value.trim() !== "") {
      const n = Number(value);
      return Number.isFinite(n) ? n : defaultValue;
    }
    return defaultValue;
  }

  class Client extends EventEmitter {
    constructor(config) {
      super();
      this.connectionParameters = new ConnectionParameters(config);
      this.user = this.connectionParameters.user;
      this.database = this.connectionParameters.database;
      this.port = this.connectionParameters.port;
      this.host = this.connectionParameters.host;
      Object.defineProperty(this, "password", {
        configurable: true,
        enumerable: false,
        writable: true,
        value: this.connectionParameters.password
      });
      this.replication = this.connectionParameters.replication;
      const c = config || {};
      if (c.Promise) {
        byoPromiseDeprecationNotice();
      }
      this._Promise = c.Promise || global.Promise;
      this._types = new TypeOverrides(c.types);
      this._ending = false;
      this._ended = false;
      this._connecting = false;
      this._connected = false;
      this._connectionError = false;
      this._queryable = true;
      this._activeQuery = null;
      this._txStatus = null;
      this.enableChannelBinding = Boolean(c.enableChannelBinding);
      this.scramMaxIterations = coerceNumberOrDefault(c.scramMaxIterations, sasl.DEFAULT_MAX_SCRAM_ITERATIONS);
      this.connection = c.connection || new Connection({
        stream: c.stream,
        ssl: this.connectionParameters.ssl,
        sslNegotiation: this.connectionParameters.sslnegotiation,
        keepAlive: c.keepAlive || false,
        keepAliveInitialDelayMillis: c.keepAliveInitialDelayMillis || 0,
        encoding: this.connectionParameters.client_encoding || "utf8"
      });
      this._queryQueue = [];
      this._sentQueryQueue = [];
      this.pipeline = Boolean(c.pipeline);
      this.binary = c.binary || defaults.binary;
      this.processID = null;
      this.secretKey = null;
      this.ssl = this.connectionParameters.ssl || false;
      this.sslNegotiation = this.connectionParameters.sslnegotiation || "postgres";
      if (this.ssl && this.ssl.key) {
        Object.defineProperty(this.ssl, "key", {
          enumerable: false
        });
      }
      this._connectionTimeoutMillis = c.connectionTimeoutMillis || 0;
    }
    get activeQuery() {
      activeQueryDeprecationNotice();
      return this._activeQuery;
    }
    set activeQuery(val) {
      activeQueryDeprecationNotice();
      this._activeQuery = val;
    }
    _getActiveQuery() {
      return this._activeQuery;
    }
    _errorAllQueries(err) {
      const enqueueError = (query) => {
        process.nextTick(() => {
          query.handleError(err, this.connection);
        });
      };
      const activeQuery = this._getActiveQuery();
      if (activeQuery) {
        enqueueError(activeQuery);
        this._activeQuery = null;
      }
      this._sentQueryQueue.forEach(enqueueError);
      this._sentQueryQueue.length = 0;
      this._queryQueue.forEach(enqueueError);
      this._queryQueue.length = 0;
    }
    _connect(callback) {
      const self = this;
      const con = this.connection;
      this._connectionCallback = callback;
      if (this._connecting || this._connected) {
        const err = new Error("Client has already been connected. You cannot reuse a client.");
        process.nextTick(() => {
          callback(err);
        });
        return;
      }
      this._connecting = true;
      if (this._connectionTimeoutMillis > 0) {
        this.connectionTimeoutHandle = setTimeout(() => {
          con._ending = true;
          con.stream.destroy(new Error("timeout expired"));
        }, this._connectionTimeoutMillis);
        if (this.connectionTimeoutHandle.unref) {
          this.connectionTimeoutHandle.unref();
        }
      }
      if (this.host && this.host.indexOf("/") === 0) {
        con.connect(this.host + "/.s.PGSQL." + this.port);
      } else {
        con.connect(this.port, this.host);
      }
      con.on("connect", function() {
        if (self.ssl) {
          if (self.sslNegotiation !== "direct") {
            con.requestSsl();
          }
        } else {
          con.startup(self.getStartupConf());
        }
      });
      con.on("sslconnect", function() {
        con.startup(self.getStartupConf());
      });
      this._attachListeners(con);
      con.once("end", () => {
        const error = this._ending ? new Error("Connection terminated") : new Error("Connection terminated unexpectedly");
        clearTimeout(this.connectionTimeoutHandle);
        this._errorAllQueries(error);
        this._ended = true;
        if (!this._ending) {
          if (this._connecting && !this._connectionError) {
            if (this._connectionCallback) {
              this._connectionCallback(error);
            } else {
              this._handleErrorEvent(error);
            }
          } else if (!this._connectionError) {
            this._handleErrorEvent(error);
          }
        }
        process.nextTick(() => {
          this.emit("end");
        });
      });
    }
    connect(callback) {
      if (callback) {
        this._connect(callback);
        return;
      }
      return new this._Promise((resolve, reject) => {
        this._connect((error) => {
          if (error) {
            reject(error);
          } else {
            resolve(this);
          }
        });
      });
    }
    _attachListeners(con) {
      con.on("authenticationCleartextPassword", this._handleAuthCleartextPassword.bind(this));
      con.on("authenticationMD5Password", this._handleAuthMD5Password.bind(this));
      con.on("authenticationSASL", this._handleAuthSASL.bind(this));
      con.on("authenticationSASLContinue", this._handleAuthSASLContinue.bind(this));
      con.on("authenticationSASLFinal", this._handleAuthSASLFinal.bind(this));
      con.on("backendKeyData", this._handleBackendKeyData.bind(this));
      con.on("error", this._handleErrorEvent.bind(this));
      con.on("errorMessage", this._handleErrorMessage.bind(this));
      con.on("readyForQuery", this._handleReadyForQuery.bind(this));
      con.on("notice", this._handleNotice.bind(this));
      con.on("rowDescription", this._handleRowDescription.bind(this));
      con.on("dataRow", this._handleDataRow.bind(this));
      con.on("portalSuspended", this._handlePortalSuspended.bind(this));
      con.on("emptyQuery", this._handleEmptyQuery.bind(this));
      con.on("commandComplete", this._handleCommandComplete.bind(this));
      con.on("parseComplete", this._handleParseComplete.bind(this));
      con.on("copyInResponse", this._handleCopyInResponse.bind(this));
      con.on("copyData", this._handleCopyData.bind(this));
      con.on("notification", this._handleNotification.bind(this));
    }
    _getPassword(cb) {
      const con = this.connection;
      if (typeof this.password === "function") {
        this._Promise.resolve().then(() => this.password(this.connectionParameters)).then((pass) => {
          if (pass !== undefined) {
            if (typeof pass !== "string") {
              con.emit("error", new TypeError("Password must be a string"));
              return;
            }
            this.connectionParameters.password = this.password = pass;
          } else {
            this.connectionParameters.password = this.password = null;
          }
          cb();
        }).catch((err) => {
          con.emit("error", err);
        });
      } else if (this.password !== null) {
        cb();
      } else {
        try {
          const pgPass = require_lib();
          pgPass(this.connectionParameters, (pass) => {
            if (pass !== undefined) {
              pgPassDeprecationNotice();
              this.connectionParameters.password = this.password = pass;
            }
            cb();
          });
        } catch (e) {
          this.emit("error", e);
        }
      }
    }
    _handleAuthCleartextPassword(msg) {
      this._getPassword(() => {
        this.connection.password(this.password);
      });
    }
    _handleAuthMD5Password(msg) {
      this._getPassword(async () => {
        try {
          const hashedPassword = await crypto.postgresMd5PasswordHash(this.user, this.password, msg.salt);
          this.connection.password(hashedPassword);
        } catch (e) {
          this.emit("error", e);
        }
      });
    }
    _handleAuthSASL(msg) {
      this._getPassword(() => {
        try {
          this.saslSession = sasl.startSession(msg.mechanisms, this.enableChannelBinding && this.connection.stream, this.scramMaxIterations);
          this.connection.sendSASLInitialResponseMessage(this.saslSession.mechanism, this.saslSession.response);
        } catch (err) {
          this.connection.emit("error", err);
        }
      });
    }
    async _handleAuthSASLContinue(msg) {
      try {
        await sasl.continueSession(this.saslSession, this.password, msg.data, this.enableChannelBinding && this.connection.stream);
        this.connection.sendSCRAMClientFinalMessage(this.saslSession.response);
      } catch (err) {
        this.connection.emit("error", err);
      }
    }
    _handleAuthSASLFinal(msg) {
      try {
        sasl.finalizeSession(this.saslSession, msg.data);
        this.saslSession = null;
      } catch (err) {
        this.connection.emit("error", err);
      }
    }
    _handleBackendKeyData(msg) {
      this.processID = msg.processID;
      this.secretKey = msg.secretKey;
    }
    _handleReadyForQuery(msg) {
      if (this._connecting) {
        this._connecting = false;
        this._connected = true;
        clearTimeout(this.connectionTimeoutHandle);
        if (this._connectionCallback) {
          this._connectionCallback(null, this);
          this._connectionCallback = null;
        }
        this.emit("connect");
      }
      const activeQuery = this._getActiveQuery();
      this._activeQuery = null;
      this._txStatus = msg?.status ?? null;
      this.readyForQuery = true;
      if (activeQuery) {
        activeQuery.handleReadyForQuery(this.connection);
      }
      this._pulseQueryQueue();
    }
    _handleErrorWhileConnecting(err) {
      if (this._connectionError) {
        return;
      }
      this._connectionError = true;
      clearTimeout(this.connectionTimeoutHandle);
      if (this._connectionCallback) {
        return this._connectionCallback(err);
      }
      this.emit("error", err);
    }
    _handleErrorEvent(err) {
      if (this._connecting) {
        return this._handleErrorWhileConnecting(err);
      }
      this._queryable = false;
      this._errorAllQueries(err);
      this.emit("error", err);
    }
    _handleErrorMessage(msg) {
      if (this._connecting) {
        return this._handleErrorWhileConnecting(msg);
      }
      const activeQuery = this._getActiveQuery();
      if (!activeQuery) {
        this._handleErrorEvent(msg);
        return;
      }
      this._activeQuery = null;
      if (activeQuery.name) {
        delete this.connection.submittedNamedStatements[activeQuery.name];
      }
      activeQuery.handleError(msg, this.connection);
    }
    _handleRowDescription(msg) {
      const activeQuery = this._getActiveQuery();
      if (activeQuery == null) {
        const error = new Error("Received unexpected rowDescription message from backend.");
        this._handleErrorEvent(error);
        return;
      }
      activeQuery.handleRowDescription(msg);
    }
    _handleDataRow(msg) {
      const activeQuery = this._getActiveQuery();
      if (activeQuery == null) {
        const error = new Error("Received unexpected dataRow message from backend.");
        this._handleErrorEvent(error);
        return;
      }
      activeQuery.handleDataRow(msg);
    }
    _handlePortalSuspended(msg) {
      const activeQuery = this._getActiveQuery();
      if (activeQuery == null) {
        const error = new Error("Received unexpected portalSuspended message from backend.");
        this._handleErrorEvent(error);
        return;
      }
      activeQuery.handlePortalSuspended(this.connection);
    }
    _handleEmptyQuery(msg) {
      const activeQuery = this._getActiveQuery();
      if (activeQuery == null) {
        const error = new Error("Received unexpected emptyQuery message from backend.");
        this._handleErrorEvent(error);
        return;
      }
      activeQuery.handleEmptyQuery(this.connection);
    }
    _handleCommandComplete(msg) {
      const activeQuery = this._getActiveQuery();
      if (activeQuery == null) {
        const error = new Error("Received unexpected commandComplete message from backend.");
        this._handleErrorEvent(error);
        return;
      }
      activeQuery.handleCommandComplete(msg, this.connection);
    }
    _handleParseComplete() {
      const activeQuery = this._getActiveQuery();
      if (activeQuery == null) {
        const error = new Error("Received unexpected parseComplete message from backend.");
        this._handleErrorEvent(error);
        return;
      }
      if (activeQuery.name) {
        this.connection.parsedStatements[activeQuery.name] = activeQuery.text;
        delete this.connection.submittedNamedStatements[activeQuery.name];
      }
    }
    _handleCopyInResponse(msg) {
      const activeQuery = this._getActiveQuery();
      if (activeQuery == null) {
        const error = new Error("Received unexpected copyInResponse message from backend.");
        this._handleErrorEvent(error);
        return;
      }
      activeQuery.handleCopyInResponse(this.connection);
    }
    _handleCopyData(msg) {
      const activeQuery = this._getActiveQuery();
      if (activeQuery == null) {
        const error = new Error("Received unexpected copyData message from backend.");
        this._handleErrorEvent(error);
        return;
      }
      activeQuery.handleCopyData(msg, this.connection);
    }
    _handleNotification(msg) {
      this.emit("notification", msg);
    }
    _handleNotice(msg) {
      this.emit("notice", msg);
    }
    getStartupConf() {
      const params = this.connectionParameters;
      const data = {
        user: params.user,
        database: params.database
      };
      const appName = params.application_name || params.fallback_application_name;
      if (appName) {
        data.application_name = appName;
      }
      if (params.replication) {
        data.replication = "" + params.replication;
      }
      if (params.statement_timeout) {
        data.statement_timeout = String(parseInt(params.statement_timeout, 10));
      }
      if (params.lock_timeout) {
        data.lock_timeout = String(parseInt(params.lock_timeout, 10));
      }
      if (params.idle_in_transaction_session_timeout) {
        data.idle_in_transaction_session_timeout = String(parseInt(params.idle_in_transaction_session_timeout, 10));
      }
      if (params.options) {
        data.options = params.options;
      }
      return data;
    }
    cancel(client, query) {
      if (client.activeQuery === query) {
        const con = this.connection;
        if (this.host && this.host.indexOf("/") === 0) {
          con.connect(this.host + "/.s.PGSQL." + this.port);
        } else {
          con.connect(this.port, this.host);
        }
        con.on("connect", function() {
          con.cancel(client.processID, client.secretKey);
        });
      } else if (client._queryQueue.indexOf(query) !== -1) {
        client._queryQueue.splice(client._queryQueue.indexOf(query), 1);
      } else if (client._sentQueryQueue.indexOf(query) !== -1) {
        query.callback = () => {};
      }
    }
    setTypeParser(oid, format, parseFn) {
      return this._types.setTypeParser(oid, format, parseFn);
    }
    getTypeParser(oid, format) {
      return this._types.getTypeParser(oid, format);
    }
    escapeIdentifier(str) {
      return utils.escapeIdentifier(str);
    }
    escapeLiteral(str) {
      return utils.escapeLiteral(str);
    }
    _pulseQueryQueue() {
      if (this.pipeline) {
        this._pulsePipelinedQueryQueue();
        return;
      }
      if (this.readyForQuery === true) {
        this._activeQuery = this._queryQueue.shift();
        const activeQuery = this._getActiveQuery();
        if (activeQuery) {
          this.readyForQuery = false;
          this.hasExecuted = true;
          const queryError = activeQuery.submit(this.connection);
          if (queryError) {
            process.nextTick(() => {
              activeQuery.handleError(queryError, this.connection);
              this.readyForQuery = true;
              this._pulseQueryQueue();
            });
          }
        } else if (this.hasExecuted) {
          this._activeQuery = null;
          this.emit("drain");
        }
      }
    }
    _pulsePipelinedQueryQueue() {
      if (!this._connected || !this._queryable) {
        return;
      }
      while (this._queryQueue.length > 0) {
        const query = this._queryQueue.shift();
        this.hasExecuted = true;
        const queryError = query.submit(this.connection);
        if (queryError) {
          process.nextTick(() => {
            query.handleError(queryError, this.connection);
          });
          continue;
        }
        this._sentQueryQueue.push(query);
      }
      if (this.readyForQuery && !this._activeQuery && this._sentQueryQueue.length > 0) {
        this._activeQuery = this._sentQueryQueue.shift();
        this.readyForQuery = false;
      }
      if (!this._activeQuery && this._sentQueryQueue.length === 0 && this._queryQueue.length === 0 && this.hasExecuted) {
        this.emit("drain");
      }
    }
    query(config, values, callback) {
      let query;
      let result;
      if (config == null) {
        throw new TypeError("Client was passed a null or undefined query");
      }
      if (typeof config.submit === "function") {
        result = query = config;
        if (!query.callback) {
          if (typeof values === "function") {
            query.callback = values;
          } else if (callback) {
            query.callback = callback;
          }
        }
      } else {
        query = new Query(config, values, callback);
        if (!query.callback) {
          result = new this._Promise((resolve, reject) => {
            query.callback = (err, res) => err ? reject(err) : resolve(res);
          }).catch((err) => {
            Error.captureStackTrace(err);
            throw err;
          });
        } else if (typeof query.callback !== "function") {
          throw new TypeError("callback is not a function");
        }
      }
      const readTimeout = config.query_timeout || this.connectionParameters.query_timeout;
      if (readTimeout) {
        const queryCallback = query.callback || (() => {});
        const readTimeoutTimer = setTimeout(() => {
          const error = new Error("Query read timeout");
          process.nextTick(() => {
            query.handleError(error, this.connection);
          });
          queryCallback(error);
          query.callback = () => {};
          const index = this._queryQueue.indexOf(query);
          if (index > -1) {
            this._queryQueue.splice(index, 1);
          } else if (this.pipeline) {
            this.connection.stream.destroy();
            return;
          }
          this._pulseQueryQueue();
        }, readTimeout);
        query.callback = (err, res) => {
          clearTimeout(readTimeoutTimer);
          queryCallback(err, res);
        };
      }
      if (this.binary && !query.binary) {
        query.binary = true;
      }
      if (query._result && !query._result._types) {
        query._result._types = this._types;
      }
      if (this.pipeline) {
        const portalQuery = typeof config.submit === "function" && !(query instanceof Query) ? "Custom query classes such as pg-cursor and pg-query-stream are" : query.rows ? "The `rows` option is" : null;
        if (portalQuery) {
          process.nextTick(() => {
            query.handleError(new Error(`${portalQuery} not supported in pipeline mode`), this.connection);
          });
          return result;
        }
      }
      if (!this._queryable) {
        process.nextTick(() => {
          query.handleError(new Error("Client has encountered a connection error and is not queryable"), this.connection);
        });
        return result;
      }
      if (this._ending) {
        process.nextTick(() => {
          query.handleError(new Error("Client was closed and is not queryable"), this.connection);
        });
        return result;
      }
      if (this._queryQueue.length > 0 && !this.pipeline) {
        queryQueueLengthDeprecationNotice();
      }
      this._queryQueue.push(query);
      this._pulseQueryQueue();
      return result;
    }
    ref() {
      this.connection.ref();
    }
    unref() {
      this.connection.unref();
    }
    getTransactionStatus() {
      return this._txStatus;
    }
    end(cb) {
      this._ending = true;
      if (!this.connection._connecting || this._ended) {
        if (cb) {
          cb();
          return;
        } else {
          return this._Promise.resolve();
        }
      }
      if (!this._queryable) {
        this.connection.stream.destroy();
      } else if (this.pipeline && (this._getActiveQuery() || this._sentQueryQueue.length > 0 || this._queryQueue.length > 0)) {
        this.once("drain", () => this.connection.end());
      } else if (this._getActiveQuery()) {
        this.connection.stream.destroy();
      } else {
        this.connection.end();
      }
      if (cb) {
        this.connection.once("end", cb);
      } else {
        return new this._Promise((resolve) => {
          this.connection.once("end", resolve);
        });
      }
    }
    get queryQueue() {
      queryQueueDeprecationNotice();
      return this._queryQueue;
    }
  }
  Client.Query = Query;
  module.exports = Client;
});

// ../../node_modules/pg-pool/index.js
var require_pg_pool = __commonJS(function(exports, module) {
  var EventEmitter = __require("events").EventEmitter;
  var NOOP = function() {};
  var removeWhere = (list, predicate) => {
    const i = list.findIndex(predicate);
    return i === -1 ? undefined : list.splice(i, 1)[0];
  };

  class IdleItem {
    constructor(client, idleListener, timeoutId) {
      this.client = client;
      this.idleListener = idleListener;
      this.timeoutId = timeoutId;
    }
  }

  class PendingItem {
    constructor(callback) {
      this.callback = callback;
    }
  }
  function throwOnDoubleRelease() {
    throw new Error("Release called on client which has already been released to the pool.");
  }
  function promisify(Promise2, callback) {
    if (callback) {
      return { callback, result: undefined };
    }
    let rej;
    let res;
    const cb = function(err, client) {
      err ? rej(err) : res(client);
    };
    const result = new Promise2(function(resolve, reject) {
      res = resolve;
      rej = reject;
    }).catch((err) => {
      Error.captureStackTrace(err);
      throw err;
    });
    return { callback: cb, result };
  }
  function makeIdleListener(pool, client) {
    return function idleListener(err) {
      err.client = client;
      client.removeListener("error", idleListener);
      client.on("error", () => {
        pool.log("additional client error after disconnection due to error", err);
      });
      pool._remove(client);
      pool.emit("error", err, client);
    };
  }

  class Pool extends EventEmitter {
    constructor(options, Client) {
      super();
      this.options = Object.assign({}, options);
      if (options != null && "password" in options) {
        Object.defineProperty(this.options, "password", {
          configurable: true,
          enumerable: false,
          writable: true,
          value: options.password
        });
      }
      if (options != null && options.ssl && options.ssl.key) {
        Object.defineProperty(this.options.ssl, "key", {
          enumerable: false
        });
      }
      this.options.max = this.options.max || this.options.poolSize || 10;
      this.options.min = this.options.min || 0;
      this.options.maxUses = this.options.maxUses || Infinity;
      this.options.allowExitOnIdle = this.options.allowExitOnIdle || false;
      this.options.maxLifetimeSeconds = this.options.maxLifetimeSeconds || 0;
      this.log = this.options.log || function() {};
      this.Client = this.options.Client || Client || require_lib2().Client;
      this.Promise = this.options.Promise || global.Promise;
      if (typeof this.options.idleTimeoutMillis === "undefined") {
        this.options.idleTimeoutMillis = 1e4;
      }
      this._clients = [];
      this._idle = [];
      this._expired = new WeakSet;
      this._pendingQueue = [];
      this._endCallback = undefined;
      this.ending = false;
      this.ended = false;
    }
    _promiseTry(f) {
      const Promise2 = this.Promise;
      if (typeof Promise2.try === "function") {
        return Promise2.try(f);
      }
      return new Promise2((resolve) => resolve(f()));
    }
    _isFull() {
      return this._clients.length >= this.options.max;
    }
    _isAboveMin() {
      return this._clients.length > this.options.min;
    }
    _pulseQueue() {
      this.log("pulse queue");
      if (this.ended) {
        this.log("pulse queue ended");
        return;
      }
      if (this.ending) {
        this.log("pulse queue on ending");
        if (this._idle.length) {
          this._idle.slice().map((item) => {
            this._remove(item.client);
          });
        }
        if (!this._clients.length) {
          this.ended = true;
          this._endCallback();
        }
        return;
      }
      if (!this._pendingQueue.length) {
        this.log("no queued requests");
        return;
      }
      if (!this._idle.length && this._isFull()) {
        return;
      }
      const pendingItem = this._pendingQueue.shift();
      if (this._idle.length) {
        const idleItem = this._idle.pop();
        clearTimeout(idleItem.timeoutId);
        const client = idleItem.client;
        client.ref && client.ref();
        const idleListener = idleItem.idleListener;
        return this._acquireClient(client, pendingItem, idleListener, false);
      }
      if (!this._isFull()) {
        return this.newClient(pendingItem);
      }
      throw new Error("unexpected condition");
    }
    _remove(client, callback) {
      const removed = removeWhere(this._idle, (item) => item.client === client);
      if (removed !== undefined) {
        clearTimeout(removed.timeoutId);
      }
      this._clients = this._clients.filter((c) => c !== client);
      const context = this;
      client.end(() => {
        context.emit("remove", client);
        if (typeof callback === "function") {
          callback();
        }
      });
    }
    connect(cb) {
      if (this.ending) {
        const err = new Error("Cannot use a pool after calling end on the pool");
        return cb ? cb(err) : this.Promise.reject(err);
      }
      const response = promisify(this.Promise, cb);
      const result = response.result;
      if (this._isFull() || this._idle.length) {
        if (this._idle.length) {
          process.nextTick(() => this._pulseQueue());
        }
        if (!this.options.connectionTimeoutMillis) {
          this._pendingQueue.push(new PendingItem(response.callback));
          return result;
        }
        const queueCallback = (err, res, done) => {
          clearTimeout(tid);
          response.callback(err, res, done);
        };
        const pendingItem = new PendingItem(queueCallback);
        const tid = setTimeout(() => {
          removeWhere(this._pendingQueue, (i) => i.callback === queueCallback);
          pendingItem.timedOut = true;
          response.callback(new Error("timeout exceeded when trying to connect"));
        }, this.options.connectionTimeoutMillis);
        if (tid.unref) {
          tid.unref();
        }
        this._pendingQueue.push(pendingItem);
        return result;
      }
      this.newClient(new PendingItem(response.callback));
      return result;
    }
    newClient(pendingItem) {
      const client = new this.Client(this.options);
      this._clients.push(client);
      const idleListener = makeIdleListener(this, client);
      this.log("checking client timeout");
      let tid;
      let timeoutHit = false;
      if (this.options.connectionTimeoutMillis) {
        tid = setTimeout(() => {
          if (client.connection) {
            this.log("ending client due to timeout");
            timeoutHit = true;
            client.connection.stream.destroy();
          } else if (!client.isConnected()) {
            this.log("ending client due to timeout");
            timeoutHit = true;
            client.end();
          }
        }, this.options.connectionTimeoutMillis);
      }
      this.log("connecting new client");
      client.connect((err) => {
        if (tid) {
          clearTimeout(tid);
        }
        client.on("error", idleListener);
        if (err) {
          this.log("client failed to connect", err);
          this._clients = this._clients.filter((c) => c !== client);
          if (timeoutHit) {
            err = new Error("Connection terminated due to connection timeout", { cause: err });
          }
          this._pulseQueue();
          if (!pendingItem.timedOut) {
            pendingItem.callback(err, undefined, NOOP);
          }
        } else {
          this.log("new client connected");
          if (this.options.onConnect) {
            this._promiseTry(() => this.options.onConnect(client)).then(() => {
              this._afterConnect(client, pendingItem, idleListener);
            }, (hookErr) => {
              this._clients = this._clients.filter((c) => c !== client);
              client.end(() => {
                this._pulseQueue();
                if (!pendingItem.timedOut) {
                  pendingItem.callback(hookErr, undefined, NOOP);
                }
              });
            });
            return;
          }
          return this._afterConnect(client, pendingItem, idleListener);
        }
      });
    }
    _afterConnect(client, pendingItem, idleListener) {
      if (this.options.maxLifetimeSeconds !== 0) {
        const maxLifetimeTimeout = setTimeout(() => {
          this.log("ending client due to expired lifetime");
          this._expired.add(client);
          const idleIndex = this._idle.findIndex((idleItem) => idleItem.client === client);
          if (idleIndex !== -1) {
            this._acquireClient(client, new PendingItem((err, client, clientRelease) => clientRelease()), idleListener, false);
          }
        }, this.options.maxLifetimeSeconds * 1000);
        maxLifetimeTimeout.unref();
        client.once("end", () => clearTimeout(maxLifetimeTimeout));
      }
      return this._acquireClient(client, pendingItem, idleListener, true);
    }
    _acquireClient(client, pendingItem, idleListener, isNew) {
      if (isNew) {
        this.emit("connect", client);
      }
      this.emit("acquire", client);
      client.release = this._releaseOnce(client, idleListener);
      client.removeListener("error", idleListener);
      if (!pendingItem.timedOut) {
        if (isNew && this.options.verify) {
          this.options.verify(client, (err) => {
            if (err) {
              client.release(err);
              return pendingItem.callback(err, undefined, NOOP);
            }
            pendingItem.callback(undefined, client, client.release);
          });
        } else {
          pendingItem.callback(undefined, client, client.release);
        }
      } else {
        if (isNew && this.options.verify) {
          this.options.verify(client, client.release);
        } else {
          client.release();
        }
      }
    }
    _releaseOnce(client, idleListener) {
      let released = false;
      return (err) => {
        if (released) {
          throwOnDoubleRelease();
        }
        released = true;
        this._release(client, idleListener, err);
      };
    }
    _release(client, idleListener, err) {
      client.on("error", idleListener);
      client._poolUseCount = (client._poolUseCount || 0) + 1;
      this.emit("release", err, client);
      if (err || this.ending || !client._queryable || client._ending || client._poolUseCount >= this.options.maxUses) {
        if (client._poolUseCount >= this.options.maxUses) {
          this.log("remove expended client");
        }
        return this._remove(client, this._pulseQueue.bind(this));
      }
      const isExpired = this._expired.has(client);
      if (isExpired) {
        this.log("remove expired client");
        this._expired.delete(client);
        return this._remove(client, this._pulseQueue.bind(this));
      }
      let tid;
      if (this.options.idleTimeoutMillis && this._isAboveMin()) {
        tid = setTimeout(() => {
          if (this._isAboveMin()) {
            this.log("remove idle client");
            this._remove(client, this._pulseQueue.bind(this));
          }
        }, this.options.idleTimeoutMillis);
        if (this.options.allowExitOnIdle) {
          tid.unref();
        }
      }
      if (this.options.allowExitOnIdle) {
        client.unref();
      }
      this._idle.push(new IdleItem(client, idleListener, tid));
      this._pulseQueue();
    }
    query(text, values, cb) {
      if (typeof text === "function") {
        const response = promisify(this.Promise, text);
        setImmediate(function() {
          return response.callback(new Error("Passing a function as the first parameter to pool.query is not supported"));
        });
        return response.result;
      }
      if (typeof values === "function") {
        cb = values;
        values = undefined;
      }
      const response = promisify(this.Promise, cb);
      cb = response.callback;
      this.connect((err, client) => {
        if (err) {
          return cb(err);
        }
        let clientReleased = false;
        const onError = (err) => {
          if (clientReleased) {
            return;
          }
          clientReleased = true;
          client.release(err);
          cb(err);
        };
        client.once("error", onError);
        this.log("dispatching query");
        try {
          client.query(text, values, (err, res) => {
            this.log("query dispatched");
            client.removeListener("error", onError);
            if (clientReleased) {
              return;
            }
            clientReleased = true;
            client.release(err);
            if (err) {
              return cb(err);
            }
            return cb(undefined, res);
          });
        } catch (err) {
          client.release(err);
          return cb(err);
        }
      });
      return response.result;
    }
    end(cb) {
      this.log("ending");
      if (this.ending) {
        const err = new Error("Called end on pool more than once");
        return cb ? cb(err) : this.Promise.reject(err);
      }
      this.ending = true;
      const promised = promisify(this.Promise, cb);
      this._endCallback = promised.callback;
      this._pulseQueue();
      return promised.result;
    }
    get waitingCount() {
      return this._pendingQueue.length;
    }
    get idleCount() {
      return this._idle.length;
    }
    get expiredCount() {
      return this._clients.reduce((acc, client) => acc + (this._expired.has(client) ? 1 : 0), 0);
    }
    get totalCount() {
      return this._clients.length;
    }
  }
  module.exports = Pool;
});

// ../../node_modules/pg/lib/native/query.js
var require_query2 = __commonJS(function(exports, module) {
  var EventEmitter = __require("events").EventEmitter;
  var util = __require("util");
  var utils = require_utils();
  var NativeQuery = module.exports = function(config, values, callback) {
    EventEmitter.call(this);
    config = utils.normalizeQueryConfig(config, values, callback);
    this.text = config.text;
    this.values = config.values;
    this.name = config.name;
    this.queryMode = config.queryMode;
    this.callback = config.callback;
    this.state = "new";
    this._arrayMode = config.rowMode === "array";
    this._emitRowEvents = false;
    this.on("newListener", function(event) {
      if (event === "row")
        this._emitRowEvents = true;
    }.bind(this));
  };
  util.inherits(NativeQuery, EventEmitter);
  var errorFieldMap = {
    sqlState: "code",
    statementPosition: "position",
    messagePrimary: "message",
    messageDetail: "detail",
    messageHint: "hint",
    context: "where",
    schemaName: "schema",
    tableName: "table",
    columnName: "column",
    dataTypeName: "dataType",
    constraintName: "constraint",
    sourceFile: "file",
    sourceLine: "line",
    sourceFunction: "routine"
  };
  NativeQuery.prototype.handleError = function(err) {
    const fields = this.native && this.native.pq.resultErrorFields();
    if (fields) {
      for (const key in fields) {
        const normalizedFieldName = errorFieldMap[key] || key;
        err[normalizedFieldName] = fields[key];
      }
    }
    if (this.callback) {
      this.callback(err);
    } else {
      this.emit("error", err);
    }
    this.state = "error";
  };
  NativeQuery.prototype.then = function(onSuccess, onFailure) {
    return this._getPromise().then(onSuccess, onFailure);
  };
  NativeQuery.prototype.catch = function(callback) {
    return this._getPromise().catch(callback);
  };
  NativeQuery.prototype._getPromise = function() {
    if (this._promise)
      return this._promise;
    this._promise = new Promise(function(resolve, reject) {
      this._once("end", resolve);
      this._once("error", reject);
    }.bind(this));
    return this._promise;
  };
  NativeQuery.prototype.submit = function(client) {
    this.state = "running";
    const self = this;
    this.native = client.native;
    client.native.arrayMode = this._arrayMode;
    let after = function(err, rows, results) {
      client.native.arrayMode = false;
      setImmediate(function() {
        self.emit("_done");
      });
      if (err) {
        return self.handleError(err);
      }
      if (self._emitRowEvents) {
        if (results.length > 1) {
          rows.forEach((rowOfRows, i) => {
            rowOfRows.forEach((row) => {
              self.emit("row", row, results[i]);
            });
          });
        } else {
          rows.forEach(function(row) {
            self.emit("row", row, results);
          });
        }
      }
      self.state = "end";
      self.emit("end", results);
      if (self.callback) {
        self.callback(null, results);
      }
    };
    if (process.domain) {
      after = process.domain.bind(after);
    }
    if (this.name) {
      if (this.name.length > 63) {
        console.error("Warning! Postgres only supports 63 characters for query names.");
        console.error("You supplied %s (%s)", this.name, this.name.length);
        console.error("This can cause conflicts and silent errors executing queries");
      }
      const values = (this.values || []).map(utils.prepareValue);
      if (client.namedQueries[this.name] !== undefined) {
        if (this.text && client.namedQueries[this.name] !== this.text) {
          const err = new Error(`Prepared statements must be unique - '${this.name}' was used for a different statement`);
          return after(err);
        }
        return client.native.execute(this.name, values, after);
      }
      return client.native.prepare(this.name, this.text, values.length, function(err) {
        if (err)
          return after(err);
        client.namedQueries[self.name] = self.text;
        return self.native.execute(self.name, values, after);
      });
    } else if (this.values) {
      if (!Array.isArray(this.values)) {
        const err = new Error("Query values must be an array");
        return after(err);
      }
      const vals = this.values.map(utils.prepareValue);
      client.native.query(this.text, vals, after);
    } else if (this.queryMode === "extended") {
      client.native.query(this.text, [], after);
    } else {
      client.native.query(this.text, after);
    }
  };
});

// ../../node_modules/pg/lib/native/client.js
var require_client2 = __commonJS(function(exports, module) {
  var nodeUtils = __require("util");
  var Native;
  try {
    Native = (()=>{throw new Error("Cannot require module "+"pg-native");})();
  } catch (e) {
    throw e;
  }
  var TypeOverrides = require_type_overrides();
  var EventEmitter = __require("events").EventEmitter;
  var util = __require("util");
  var ConnectionParameters = require_connection_parameters();
  var NativeQuery = require_query2();
  var queryQueueLengthDeprecationNotice = nodeUtils.deprecate(() => {}, "Calling client.query() when the client is already executing a query is deprecated and will be removed in pg@9.0. Use async/await or an external async flow control mechanism instead.");
  var Client = module.exports = function(config) {
    EventEmitter.call(this);
    config = config || {};
    this._Promise = config.Promise || global.Promise;
    this._types = new TypeOverrides(config.types);
    this.native = new Native({
      types: this._types
    });
    this._queryQueue = [];
    this._ending = false;
    this._connecting = false;
    this._connected = false;
    this._queryable = true;
    this.pipeline = Boolean(config.pipeline);
    this._pipelineInFlight = false;
    const cp = this.connectionParameters = new ConnectionParameters(config);
    if (config.nativeConnectionString)
      cp.nativeConnectionString = config.nativeConnectionString;
    this.user = cp.user;
    Object.defineProperty(this, "password", {
      configurable: true,
      enumerable: false,
      writable: true,
      value: cp.password
    });
    this.database = cp.database;
    this.host = cp.host;
    this.port = cp.port;
    this.namedQueries = {};
  };
  Client.Query = NativeQuery;
  util.inherits(Client, EventEmitter);
  Client.prototype._errorAllQueries = function(err) {
    const enqueueError = (query) => {
      process.nextTick(() => {
        query.native = this.native;
        query.handleError(err);
      });
    };
    if (this._hasActiveQuery()) {
      enqueueError(this._activeQuery);
      this._activeQuery = null;
    }
    this._queryQueue.forEach(enqueueError);
    this._queryQueue.length = 0;
  };
  Client.prototype._connect = function(cb) {
    const self = this;
    if (this._connecting) {
      process.nextTick(() => cb(new Error("Client has already been connected. You cannot reuse a client.")));
      return;
    }
    this._connecting = true;
    this.connectionParameters.getLibpqConnectionString(function(err, conString) {
      if (self.connectionParameters.nativeConnectionString)
        conString = self.connectionParameters.nativeConnectionString;
      if (err)
        return cb(err);
      self.native.connect(conString, function(err) {
        if (err) {
          self.native.end();
          return cb(err);
        }
        self._connected = true;
        self.native.on("error", function(err) {
          self._queryable = false;
          self._errorAllQueries(err);
          self.emit("error", err);
        });
        self.native.on("notification", function(msg) {
          self.emit("notification", {
            channel: msg.relname,
            payload: msg.extra
          });
        });
        self.emit("connect");
        self._pulseQueryQueue(true);
        cb(null, this);
      });
    });
  };
  Client.prototype.connect = function(callback) {
    if (callback) {
      this._connect(callback);
      return;
    }
    return new this._Promise((resolve, reject) => {
      this._connect((error) => {
        if (error) {
          reject(error);
        } else {
          resolve(this);
        }
      });
    });
  };
  Client.prototype.query = function(config, values, callback) {
    let query;
    let result;
    let readTimeout;
    let readTimeoutTimer;
    let queryCallback;
    if (config === null || config === undefined) {
      throw new TypeError("Client was passed a null or undefined query");
    } else if (typeof config.submit === "function") {
      readTimeout = config.query_timeout || this.connectionParameters.query_timeout;
      result = query = config;
      if (typeof values === "function") {
        config.callback = values;
      }
    } else {
      readTimeout = config.query_timeout || this.connectionParameters.query_timeout;
      query = new NativeQuery(config, values, callback);
      if (!query.callback) {
        let resolveOut, rejectOut;
        result = new this._Promise((resolve, reject) => {
          resolveOut = resolve;
          rejectOut = reject;
        }).catch((err) => {
          Error.captureStackTrace(err);
          throw err;
        });
        query.callback = (err, res) => err ? rejectOut(err) : resolveOut(res);
      }
    }
    if (readTimeout) {
      queryCallback = query.callback || (() => {});
      readTimeoutTimer = setTimeout(() => {
        const error = new Error("Query read timeout");
        process.nextTick(() => {
          query.handleError(error, this.connection);
        });
        queryCallback(error);
        query.callback = () => {};
        const index = this._queryQueue.indexOf(query);
        if (index > -1) {
          this._queryQueue.splice(index, 1);
        }
        this._pulseQueryQueue();
      }, readTimeout);
      query.callback = (err, res) => {
        clearTimeout(readTimeoutTimer);
        queryCallback(err, res);
      };
    }
    if (!this._queryable) {
      query.native = this.native;
      process.nextTick(() => {
        query.handleError(new Error("Client has encountered a connection error and is not queryable"));
      });
      return result;
    }
    if (this._ending) {
      query.native = this.native;
      process.nextTick(() => {
        query.handleError(new Error("Client was closed and is not queryable"));
      });
      return result;
    }
    if (this._queryQueue.length > 0 && !this.pipeline) {
      queryQueueLengthDeprecationNotice();
    }
    this._queryQueue.push(query);
    this._pulseQueryQueue();
    return result;
  };
  Client.prototype.end = function(cb) {
    const self = this;
    this._ending = true;
    if (this._connecting && !this._connected) {
      this.once("connect", () => {
        this.end(() => {});
      });
    }
    let result;
    if (!cb) {
      result = new this._Promise(function(resolve, reject) {
        cb = (err) => err ? reject(err) : resolve();
      });
    }
    const doEnd = function() {
      self.native.end(function() {
        self._connected = false;
        self._errorAllQueries(new Error("Connection terminated"));
        process.nextTick(() => {
          self.emit("end");
          if (cb)
            cb();
        });
      });
    };
    if (this.pipeline && (this._pipelineInFlight || this._queryQueue.length > 0)) {
      this.once("drain", doEnd);
    } else {
      doEnd();
    }
    return result;
  };
  Client.prototype._hasActiveQuery = function() {
    return this._activeQuery && this._activeQuery.state !== "error" && this._activeQuery.state !== "end";
  };
  Client.prototype._pulseQueryQueue = function(initialConnection) {
    if (!this._connected) {
      return;
    }
    if (this.pipeline && !initialConnection) {
      return this._pulsePipelinedQueryQueue();
    }
    if (this._hasActiveQuery()) {
      return;
    }
    const query = this._queryQueue.shift();
    if (!query) {
      if (!initialConnection) {
        this.emit("drain");
      }
      return;
    }
    this._activeQuery = query;
    query.submit(this);
    const self = this;
    query.once("_done", function() {
      self._pulseQueryQueue();
    });
  };
  Client.prototype._pulsePipelinedQueryQueue = function() {
    if (!this._connected || this._pipelineInFlight) {
      return;
    }
    if (this._queryQueue.length === 0) {
      if (this.hasExecuted) {
        this.emit("drain");
      }
      return;
    }
    this._pipelineInFlight = true;
    const self = this;
    const queries = [];
    const nativeQueries = [];
    const utils = require_utils();
    while (this._queryQueue.length > 0) {
      const query = this._queryQueue.shift();
      this.hasExecuted = true;
      nativeQueries.push(query);
      const values = query.values ? query.values.map(utils.prepareValue) : null;
      const pipelineEntry = { text: query.text, name: query.name, arrayMode: query._arrayMode };
      if (values) {
        pipelineEntry.values = values;
      }
      if (query.name && this.namedQueries[query.name]) {
        pipelineEntry._alreadyPrepared = true;
      }
      queries.push(pipelineEntry);
    }
    this.native.pipeline(queries, function(err, results) {
      self._pipelineInFlight = false;
      if (err) {
        self._connected = false;
        self._queryable = false;
        for (let i = 0;i < nativeQueries.length; i++) {
          const q = nativeQueries[i];
          q.native = self.native;
          q.handleError(err);
        }
        self._errorAllQueries(err);
        self.emit("error", err);
        self.emit("end");
        return;
      }
      for (let i = 0;i < nativeQueries.length; i++) {
        const q = nativeQueries[i];
        const r = results[i];
        q.native = self.native;
        if (r.err) {
          q.handleError(r.err);
        } else {
          if (q.name) {
            self.namedQueries[q.name] = q.text;
          }
          q.state = "end";
          q.emit("end", r.result);
          if (q.callback) {
            q.callback(null, r.result);
          }
        }
        setImmediate(function() {
          q.emit("_done");
        });
      }
      self._pulsePipelinedQueryQueue();
    });
  };
  Client.prototype.cancel = function(query) {
    if (this._activeQuery === query) {
      this.native.cancel(function() {});
    } else if (this._queryQueue.indexOf(query) !== -1) {
      this._queryQueue.splice(this._queryQueue.indexOf(query), 1);
    }
  };
  Client.prototype.ref = function() {};
  Client.prototype.unref = function() {};
  Client.prototype.setTypeParser = function(oid, format, parseFn) {
    return this._types.setTypeParser(oid, format, parseFn);
  };
  Client.prototype.getTypeParser = function(oid, format) {
    return this._types.getTypeParser(oid, format);
  };
  Client.prototype.isConnected = function() {
    return this._connected;
  };
  Client.prototype.getTransactionStatus = function() {
    return this.native.getTransactionStatus();
  };
});

// ../../node_modules/pg/lib/index.js
var require_lib2 = __commonJS(function(exports, module) {
  var Client = require_client();
  var defaults = require_defaults();
  var Connection = require_connection();
  var Result = require_result();
  var utils = require_utils();
  var Pool = require_pg_pool();
  var TypeOverrides = require_type_overrides();
  var { DatabaseError } = require_dist();
  var { escapeIdentifier, escapeLiteral } = require_utils();
  var poolFactory = (Client) => {
    return class BoundPool extends Pool {
      constructor(options) {
        super(options, Client);
      }
    };
  };
  var PG = function(clientConstructor) {
    this.defaults = defaults;
    this.Client = clientConstructor;
    this.Query = this.Client.Query;
    this.Pool = poolFactory(this.Client);
    this._pools = [];
    this.Connection = Connection;
    this.types = require_pg_types();
    this.DatabaseError = DatabaseError;
    this.TypeOverrides = TypeOverrides;
    this.escapeIdentifier = escapeIdentifier;
    this.escapeLiteral = escapeLiteral;
    this.Result = Result;
    this.utils = utils;
  };
  var clientConstructor = Client;
  var forceNative = false;
  try {
    forceNative = !!process.env.NODE_PG_FORCE_NATIVE;
  } catch {}
  if (forceNative) {
    clientConstructor = require_client2();
  }
  module.exports = new PG(clientConstructor);
  Object.defineProperty(module.exports, "native", {
    configurable: true,
    enumerable: false,
    get() {
      let native = null;
      try {
        native = new PG(require_client2());
      } catch (err) {
        if (err.code !== "MODULE_NOT_FOUND") {
          throw err;
        }
      }
      Object.defineProperty(module.exports, "native", {
        value: native
      });
      return native;
    }
  });
});

// ../../node_modules/pg/esm/index.mjs
var import_lib, Client, Pool, Connection2, types, Query, DatabaseError, escapeIdentifier, escapeLiteral, Result, TypeOverrides, defaults, esm_default;
var init_esm = __esm(() => {
  import_lib = __toESM(require_lib2(), 1);
  Client = import_lib.default.Client;
  Pool = import_lib.default.Pool;
  Connection2 = import_lib.default.Connection;
  types = import_lib.default.types;
  Query = import_lib.default.Query;
  DatabaseError = import_lib.default.DatabaseError;
  escapeIdentifier = import_lib.default.escapeIdentifier;
  escapeLiteral = import_lib.default.escapeLiteral;
  Result = import_lib.default.Result;
  TypeOverrides = import_lib.default.TypeOverrides;
  defaults = import_lib.default.defaults;
  esm_default = import_lib.default;
});

// src/engines/postgres/driver.ts
class Pipeline {
  done = Promise.withResolvers();
  #steps;
  #prepared;
  #results = [];
  #rows = [];
  #parsed;
  #sent = false;
  constructor(steps, prepared) {
    this.#steps = steps;
    this.#prepared = prepared;
  }
  submit(connection) {
    const wire = connection;
    this.#sent = true;
    wire.stream.cork?.();
    try {
      for (const { statement, values } of this.#steps) {
        const state = this.#prepared.get(statement.name);
        if (state !== "ready") {
          if (state === "unsure")
            wire.close({ type: "S", name: statement.name });
          wire.parse(statement);
          this.#prepared.set(statement.name, "ready");
          this.#parsed ??= [];
          this.#parsed.push(statement.name);
        }
        wire.bind({ statement: statement.name, values: values.map(toWire) });
        wire.execute({});
      }
      wire.sync();
    } finally {
      wire.stream.uncork?.();
    }
  }
  handleDataRow(message) {
    this.#rows.push(message.fields);
  }
  handleCommandComplete(message) {
    this.#results.push({ rows: this.#rows, count: Number(message.text.slice(message.text.lastIndexOf(" ") + 1)) });
    this.#rows = [];
  }
  handleReadyForQuery() {
    this.done.resolve(this.#results);
  }
  handleError(error) {
    for (const name of this.#parsed ?? [])
      this.#prepared.set(name, "unsure");
    const sqlState = error.severity === undefined ? undefined : error.code;
    const executed = this.#results.length === this.#steps.length;
    this.done.reject(new PipelineFailure(error.message, { sqlState, sent: this.#sent, executed }));
  }
  handleRowDescription() {}
  handlePortalSuspended() {}
  handleEmptyQuery() {}
  handleCopyInResponse() {}
  handleCopyData() {}
}

class Session {
  #client;
  #prepared = new Map;
  #deadline = Number.POSITIVE_INFINITY;
  #gone = false;
  onGone = () => {};
  constructor(client) {
    this.#client = client;
    client.on("error", (error) => this.#end(error.message));
    client.on("end", () => this.#end("the connection ended"));
  }
  static async connect(url, connectMsMax) {
    const client = new esm_default.Client({
      host: url.host,
      port: url.port,
      user: url.user,
      password: () => url.password ?? "",
      database: url.database,
      ssl: url.ssl,
      options: url.options,
      application_name: "cubby",
      connectionTimeoutMillis: connectMsMax,
      keepAlive: true
    });
    const session = new Session(client);
    await client.connect();
    return session;
  }
  get isGone() {
    return this.#gone;
  }
  send(steps, msMax) {
    const pipeline = new Pipeline(steps, this.#prepared);
    this.#deadline = performance.now() + msMax;
    this.#client.query(pipeline);
    return pipeline.done.promise;
  }
  async run(sql) {
    try {
      const result = await this.#client.query({ text: sql, rowMode: "array", types: asText });
      return (Array.isArray(result) ? result.at(-1) : result).rows;
    } catch (error) {
      const { message, code, severity } = error;
      throw new PipelineFailure(message, { sqlState: severity && code, sent: true, executed: false });
    }
  }
  rest() {
    this.#deadline = Number.POSITIVE_INFINITY;
  }
  endIfLate(nowMs) {
    if (nowMs > this.#deadline)
      this.destroy("the server did not answer in time");
  }
  destroy(cause = "it was given up") {
    this.#client.connection.stream.destroy();
    this.#end(cause);
  }
  async close() {
    const timer = setTimeout(() => this.destroy(), goodbyeMsMax);
    await this.#client.end().catch(() => {});
    clearTimeout(timer);
  }
  #end(cause) {
    if (this.#gone)
      return;
    this.#gone = true;
    this.onGone(cause);
  }
}
var PipelineFailure, toWire = (value) => typeof value === "number" ? String(value) : value, asText, goodbyeMsMax = 1000;
var init_driver = __esm(() => {
  init_esm();
  PipelineFailure = class PipelineFailure extends Error {
    name = "PipelineFailure";
    sqlState;
    sent;
    executed;
    constructor(message, about) {
      super(message);
      this.sqlState = about.sqlState;
      this.sent = about.sent;
      this.executed = about.executed;
    }
  };
  asText = { getTypeParser: () => (value) => value };
});

// src/engines/postgres/failure.ts
var isRaised = (error) => stateOf(error) === "22012", isSetupRace = (error) => ["23505", "42P07", "42P16", "42710", "42P06", "40001", "40P01", "XX000"].includes(stateOf(error) ?? ""), stateOf = (error) => error instanceof PipelineFailure ? error.sqlState : undefined, isRetryable = (error) => {
  const state = stateOf(error);
  return state === "40001" || state === "40P01" || state === "26000" || state === "0A000";
}, endsSession = (error) => {
  const state = stateOf(error);
  if (!(error instanceof PipelineFailure))
    return false;
  return state === undefined || /^(25006|25P03|26000|0A000|57P..)$/.test(state);
}, isLost = (error) => {
  if (!(error instanceof PipelineFailure))
    return false;
  const state = error.sqlState;
  return state === undefined || state.startsWith("08") || state.startsWith("57P");
}, unavailable2 = (why) => new CubbyError2("unavailable", `${why} Nothing was applied.`, {
  hint: "Repeat the request after the time in Retry-After."
}), outcomeUnknown = () => new CubbyError2("outcome_unknown", "The database did not confirm the write: it may or may not have been applied.", {
  hint: "Read before repeating it."
}), isUndone = (error, commits) => {
  if (!(error instanceof PipelineFailure))
    return false;
  if (error.sqlState === "40003")
    return false;
  const brokenOff = error.sqlState !== undefined && !error.executed;
  return !isLost(error) || !commits || !error.sent || brokenOff;
}, pooledByTransaction = () => new StoreRefused("a connection pooler in transaction mode is between Cubby and the database, and Cubby needs whole sessions: " + "give the direct port of the database, or one of the pooler in session mode"), isOutOfConnections = (error) => error.code === "53300", toCallersError = (error, commits) => {
  if (!(error instanceof PipelineFailure))
    return error;
  const state = error.sqlState;
  if (!isUndone(error, commits))
    return outcomeUnknown();
  if (isLost(error))
    return unavailable2("The connection to the database broke.");
  switch (state) {
    case "40001":
    case "40P01":
      return unavailable2("The write kept colliding with others.");
    case "57014":
    case "55P03":
    case "25P03":
      return unavailable2("The database took longer than a statement may.");
    case "25006":
      return unavailable2("The database takes no writes just now.");
    case "42P05":
    case "26000":
      return pooledByTransaction();
    case "53100":
      return new CubbyError2("storage_full", "The database has no space left. Nothing was applied.", {
        hint: "The operator has to make room; reads go on working."
      });
    case "53000":
    case "53200":
    case "53300":
    case "53400":
    case "58000":
    case "58030":
      return unavailable2("The database is short of resources.");
    default:
      return new Error(`PostgreSQL refused a statement: ${state} ${error.message}`);
  }
}, connectReason = (code, error, url) => {
  switch (code) {
    case "ECONNREFUSED":
      return "nothing listens there";
    case "ENOTFOUND":
    case "EAI_AGAIN":
    case "DNS_ENOTFOUND":
      return "the host name is not known";
    case "ENOENT":
      return "there is no such socket";
    case "EHOSTUNREACH":
    case "ENETUNREACH":
    case "ETIMEDOUT":
      return "the host cannot be reached";
    case "28P01":
    case "28000":
      return `it refuses the user or the password (${error.message})`;
    case "3D000":
      return `the database does not exist; make it with: createdb ${url.database}`;
    case "42501":
      return `the user lacks a right (${error.message}); it must connect, and create and use tables and sequences`;
    case "53300":
      return `it has no connection left (${error.message})`;
    default:
      return error.message === "" ? code : error.message;
  }
}, toStartError = (error, url) => {
  if (error instanceof StoreRefused)
    return error;
  const cause = error instanceof Error ? error : new Error(String(error));
  const code = error instanceof PipelineFailure ? error.sqlState : error.code;
  const first = cause instanceof AggregateError ? cause.errors[0] : undefined;
  const reason = connectReason(String(first?.code ?? code ?? ""), first ?? cause, url).replaceAll(/\s+/g, " ");
  const clean = url.password ? reason.replaceAll(url.password, "***") : reason;
  return new StoreRefused(`the store at ${url.shown} cannot be opened: ${clean}`);
};
var init_failure = __esm(() => {
  init_errors();
  init_store_refused();
  init_driver();
});

// src/engines/postgres/statements.ts
var indexColumns, theRecord = "r.table_id = $1::bigint and r.hash_key = $2::bytea and r.range_key = $3::bytea", tableIsActive = "coalesce((select t.deleted_at is null from cubby_tables t where t.id = $1::bigint), false)", keyIsActive = (place) => `($${place}::bigint is null or coalesce((select k.revoked_at is null from cubby_api_keys k where k.seq = $${place}::bigint), false))`, guard2 = (keyPlace) => `${tableIsActive} and ${keyIsActive(keyPlace)}`, raising = (holds) => `1 / (case when ${holds} then 1 else 0 end)`, raisingUnlessApplied = (change) => `with w as (${change}) select max(w.updated_at), 1 / count(*) from w`, nowPlace = 17, entryPlaces, recordColumns, expired, live = (place) => `(r.ttl is null or r.ttl > $${place}::bigint)`, isVersion = (place) => `r.updated_at - $${place}::bigint = 0`, rowOf = (id) => `${id}, $1::bigint, $2::bytea, $3::bytea, $4::text, $5::bigint, $6::bigint, ${entryPlaces.join(", ")}`, overwrite, updateLive, conditionKind = (condition) => condition === undefined ? "none" : typeof condition === "string" ? condition : "version", idStride = 32, newId = "nextval('cubby_record_ids')", drawIds, idInBatch = "currval('cubby_record_ids') + $18::bigint", putAlone = (kind, guarded) => {
  const name = `put_${kind}${guarded ? "_guarded" : ""}`;
  if (kind === "exists" || kind === "version") {
    const version = kind === "version" ? ` and ${isVersion(guarded ? 19 : 18)}` : "";
    return { name, text: `${updateLive}${version}${guarded ? ` and ${guard2(18)}` : ""} returning r.updated_at` };
  }
  const source = guarded ? `select ${rowOf(newId)} where ${guard2(18)}` : `values (${rowOf(newId)})`;
  const only = kind === "absent" ? ` where ${expired}` : "";
  const text = `insert into cubby_records as r (${recordColumns}) ${source} ${overwrite}${only} returning r.updated_at`;
  return { name, text };
}, putInBatch = (kind) => {
  const name = `batch_put_${kind}`;
  if (kind === "exists" || kind === "version") {
    const version = kind === "version" ? ` and ${isVersion(18)}` : "";
    return { name, text: raisingUnlessApplied(`${updateLive}${version} returning r.updated_at`) };
  }
  const only = kind === "absent" ? ` where ${raising(expired)} = 1` : "";
  const text = `insert into cubby_records as r (${recordColumns}) values (${rowOf(idInBatch)}) ${overwrite}${only} returning r.updated_at`;
  return { name, text };
}, rowTypes, rowNames, unnest = (types, names) => `unnest(${types.map((type, i) => `$${i + 2}::${type}[]`).join(", ")}) as v (${names.join(", ")})`, insertRows = (tableId, source, guarded) => `insert into cubby_records as r (${recordColumns})
    select (select ${newId}) + v.place, ${tableId}, ${rowNames.slice(1).map((name) => `v.${name}`).join(", ")}
    from ${source} where ${guarded}
    ${overwrite.replaceAll(`$${nowPlace}::`, "$1::")}`, behindRows, putBatch, putTogether, deleteLive = (kind) => `delete from cubby_records as r where ${theRecord} and ${live(4)}${kind === "version" ? ` and ${isVersion(5)}` : ""}`, deleteAlone = (kind, guarded) => ({
  name: `delete_${kind}${guarded ? "_guarded" : ""}`,
  text: `${deleteLive(kind)}${guarded ? ` and ${guard2(kind === "version" ? 6 : 5)}` : ""} returning r.updated_at`
}), lockInBatch, deleteHolds, deleteInBatch = (kind) => ({
  name: `batch_delete_${kind}`,
  text: `with w as (delete from cubby_records as r where ${theRecord} returning ${live(4)} as live, r.updated_at)
    select w.live, ${raising(deleteHolds[kind])} from w`
}), guardBatch, guardState, currentVersion, getRecord, walkOf = (index, descending) => {
  const down = descending ? " desc" : "";
  if (index === "primary") {
    return {
      range: "range_key",
      where: "r.hash_key = $10::bytea and r.range_key >= $8::bytea and r.range_key < $9::bytea",
      order: (column) => `${column}${down}`
    };
  }
  const [range, type] = index === "t" ? ["updated_at", "bigint"] : [`${index}_range`, "bytea"];
  const hash = index === "t" ? "" : `r.${index}_hash = $11::bytea and `;
  const bounds = descending ? `r.${range} >= $8::${type} and (r.${range}, r.id) < ($9::${type}, $10::bigint)` : `(r.${range}, r.id) > ($8::${type}, $10::bigint) and r.${range} < $9::${type}`;
  return { range, where: `${hash}${bounds}`, order: (column, id) => `${column}${down}, ${id}${down}` };
}, scanColumn, bytesAtLeast, scanRecords = (index, descending) => {
  const { range, where, order } = walkOf(index, descending);
  const walk = `
    select r.id, r.hash_key, r.range_key, r.updated_at, r.ttl, r.${range} as place, coalesce(r.ttl <= $2::bigint, false) as expired,
      case when r.ttl <= $2::bigint then null else r.data end as data,
      case when r.ttl <= $2::bigint then 0 else ${bytesAtLeast} end as size
    from cubby_records as r where r.table_id = $1::bigint and ${where}
    order by ${order(`r.${range}`, "r.id")} limit $3::bigint`;
  const counted = `
    select w.*, row_number() over o as walked, count(*) filter (where w.expired) over o as stepped_over,
      count(*) filter (where not w.expired) over o as met,
      sum(w.size) over o as bytes
    from (${walk}) as w window o as (order by ${order("w.place", "w.id")} rows unbounded preceding)`;
  return {
    name: `scan_${index}${descending ? "_down" : ""}`,
    text: `
    select p.id, p.updated_at, p.ttl, ${index === "primary" ? "null" : "p.hash_key"}, p.range_key,
      ${index === "primary" || index === "t" ? "null" : "p.place"},
      case when p.met <= $5::bigint and (p.met <= $7::bigint or p.bytes <= $6::bigint) then p.data end,
      nullif(p.expired, false), nullif(p.walked = $3::bigint, false), nullif(p.stepped_over, 0)
    from (${counted}) as p
    where case when p.expired then p.walked = $3::bigint or p.stepped_over = $4::bigint
      else p.met <= $7::bigint + 1 or p.bytes - p.size <= $6::bigint end
    order by ${order("p.place", "p.id")} limit $5::bigint + 1`
  };
};
var init_statements = __esm(() => {
  init_indices();
  init_record_json();
  indexColumns = slots.flatMap((slot) => [`${slot}_hash`, `${slot}_range`]);
  entryPlaces = indexColumns.map((_, i) => `$${i + 7}::bytea`);
  recordColumns = `id, table_id, hash_key, range_key, data, ttl, updated_at, ${indexColumns.join(", ")}`;
  expired = `r.ttl <= $${nowPlace}::bigint`;
  overwrite = `on conflict (table_id, hash_key, range_key) do update set
  id = case when ${expired} then excluded.id else r.id end,
  updated_at = case when ${expired} then excluded.updated_at else greatest(excluded.updated_at, r.updated_at + 1) end,
  data = excluded.data, ttl = excluded.ttl,
  ${indexColumns.map((column) => `${column} = excluded.${column}`).join(", ")}`;
  updateLive = `update cubby_records as r set
  data = $4::text, ttl = $5::bigint, updated_at = greatest($6::bigint, r.updated_at + 1),
  ${indexColumns.map((column, i) => `${column} = ${entryPlaces[i]}`).join(", ")}
  where ${theRecord} and ${live(nowPlace)}`;
  drawIds = { name: "draw_ids", text: `select ${newId}` };
  rowTypes = ["bigint", "bytea", "bytea", "text", "bigint", "bigint", ...indexColumns.map(() => "bytea")];
  rowNames = ["place", "hash_key", "range_key", "data", "ttl", "updated_at", ...indexColumns];
  behindRows = rowTypes.length + 2;
  putBatch = {
    name: "put_batch",
    text: `${insertRows(`$${behindRows}::bigint`, unnest(rowTypes, rowNames), guard2(behindRows + 1).replaceAll("$1::", `$${behindRows}::`))} returning r.hash_key, r.range_key, r.updated_at`
  };
  putTogether = {
    name: "put_together",
    text: `${insertRows("v.table_id", unnest([...rowTypes, "bigint", "bigint"], [...rowNames, "table_id", "key_seq"]), guard2(0).replaceAll("$1::bigint", "v.table_id").replaceAll("$0::bigint", "v.key_seq"))} returning r.hash_key, r.range_key, r.updated_at, r.table_id`
  };
  lockInBatch = {
    name: "batch_lock",
    text: `insert into cubby_records as r (id, table_id, hash_key, range_key, data, ttl, updated_at)
    values (0, $1::bigint, $2::bytea, $3::bytea, '', 0, 0)
    on conflict (table_id, hash_key, range_key) do update set ttl = r.ttl where r.table_id is null`
  };
  deleteHolds = {
    none: "true",
    exists: "w.live",
    version: "w.live and w.updated_at = $5::bigint",
    absent: "not w.live"
  };
  guardBatch = { name: "guard", text: `select ${raising(guard2(2))}` };
  guardState = { name: "guard_state", text: `select ${tableIsActive}, ${keyIsActive(2)}` };
  currentVersion = {
    name: "version",
    text: `select r.updated_at from cubby_records as r where ${theRecord} and ${live(4)}`
  };
  getRecord = {
    name: "get",
    text: `select r.data, r.ttl, r.updated_at from cubby_records as r where ${theRecord} and ${live(4)}`
  };
  scanColumn = {
    id: 0,
    updatedAt: 1,
    ttl: 2,
    hashKey: 3,
    rangeKey: 4,
    place: 5,
    data: 6,
    isExpired: 7,
    endsWalk: 8,
    steppedOver: 9
  };
  bytesAtLeast = `${recordFrameBytesMin} + octet_length(r.hash_key) + octet_length(r.range_key) + octet_length(r.data)`;
});

// src/engines/postgres/check.ts
async function* checkStore2(open, namesManyTables, noteTable = () => {}) {
  const session = await open();
  try {
    yield* check((...steps) => session.send(steps, Number.POSITIVE_INFINITY), namesManyTables, noteTable);
  } catch (error) {
    throw toCallersError(error, false);
  } finally {
    await session.close();
  }
}
async function* check(read, namesManyTables, noteTable) {
  const [keys, tables] = await read(step(keysWithoutOrganization), step(tablesWithoutOrganization));
  for (const row of [...keys.rows, ...tables.rows])
    yield row[0];
  let last = Number.MIN_SAFE_INTEGER;
  for (;; ) {
    const [found] = await read(step(nextTables, last, tablesPerStep));
    for (const [tableId, declared] of found.rows) {
      const id = Number(tableId);
      if (namesManyTables)
        yield* checkStrays(read, last, id, noteTable);
      yield* checkTable(read, id, JSON.parse(declared), noteTable);
      last = id;
    }
    if (found.rows.length < tablesPerStep)
      break;
  }
  if (namesManyTables)
    yield* checkStrays(read, last, Number.MAX_SAFE_INTEGER, noteTable);
}
async function* checkStrays(read, after, before, noteTable) {
  for (let last = after;; ) {
    const [found] = await read(step(strayTable, last, before));
    const row = found.rows[0];
    if (row === undefined)
      return;
    last = Number(row[0]);
    const [table] = await read(step(isTable, last));
    if (table.rows.length === 0)
      yield* checkTable(read, last, undefined, noteTable);
  }
}
async function* checkTable(read, tableId, indices, noteTable) {
  let place = [Buffer.alloc(0), Buffer.alloc(0)];
  for (;; ) {
    const [found, ids] = await read(step(nextRecords, tableId, ...place, rowsPerStep2), step(lastId));
    const { rows } = found;
    for (const row of rows) {
      const finding = checkRecord2(row, indices, Number(ids.rows[0][0]));
      if (finding === undefined)
        continue;
      noteTable(tableId);
      yield `record ${row[0]} (table ${tableId}, ${JSON.stringify(fromHex(row[1]))}): ${finding}`;
    }
    if (rows.length < rowsPerStep2)
      return;
    const [, hashKey, rangeKey] = rows.at(-1);
    place = [bytesOfHex(hashKey), bytesOfHex(rangeKey)];
  }
}
var rowsPerStep2 = 100, tablesPerStep = 500, step = (statement, ...values) => ({ statement, values }), keysWithoutOrganization, tablesWithoutOrganization, nextTables, nextRecords, strayTable, isTable, lastId, checkRecord2 = (row, indices, lastDrawnId) => {
  const [id, , , text, ...stored] = row;
  if (indices === undefined)
    return "its table does not exist";
  if (Number(id) >= lastDrawnId + idStride)
    return "its id was never given out";
  let data;
  try {
    data = JSON.parse(text);
  } catch {
    return "its data is not JSON";
  }
  let expected;
  try {
    expected = indexEntries(indices, data);
  } catch (error) {
    return `its data cannot be indexed: ${error.message}`;
  }
  const wrong = expected.findIndex((value, i) => value !== (stored[i] == null ? null : fromHex(stored[i])));
  return wrong < 0 ? undefined : `${slots[wrong >> 1]} does not hold what its data says`;
};
var init_check = __esm(() => {
  init_indices();
  init_bytes();
  init_failure();
  init_statements();
  keysWithoutOrganization = {
    name: "check_keys",
    text: `select 'api key ' || k.id || ' belongs to no organization' from cubby_api_keys k
    where not exists (select 1 from cubby_organizations o where o.id = k.org_id)`
  };
  tablesWithoutOrganization = {
    name: "check_tables",
    text: `select 'table ' || t.id || ' belongs to no organization' from cubby_tables t
    where not exists (select 1 from cubby_organizations o where o.id = t.org_id)`
  };
  nextTables = {
    name: "check_next_tables",
    text: "select t.id, t.indices from cubby_tables t where t.id > $1::bigint order by t.id limit $2::bigint"
  };
  nextRecords = {
    name: "check_records",
    text: `select r.id, r.hash_key, r.range_key, r.data, ${indexColumns.map((column) => `r.${column}`).join(", ")}
    from cubby_records r where r.table_id = $1::bigint and (r.hash_key, r.range_key) > ($2::bytea, $3::bytea)
    order by r.hash_key, r.range_key limit $4::bigint`
  };
  strayTable = {
    name: "check_stray",
    text: `select r.table_id from cubby_records r where r.table_id > $1::bigint and r.table_id < $2::bigint
    order by r.table_id limit 1`
  };
  isTable = { name: "check_is_table", text: "select 1 from cubby_tables t where t.id = $1::bigint" };
  lastId = {
    name: "check_ids",
    text: "select last_value from cubby_record_ids"
  };
});

// src/engines/postgres/citus.ts
var citus = (facts, base) => {
  if (facts.citus === undefined)
    return;
  return {
    ...base,
    description: `citus ${facts.citus} on ${base.description}`,
    afterSchema: [`select create_distributed_table('cubby_records', 'table_id')`],
    planning: base.planning.map((setting) => setting.replace("force_generic_plan", "force_custom_plan")),
    pipelinesAreTransactions: false,
    guardsWrites: false,
    putsFromArrays: false,
    namesManyTables: false
  };
};

// src/engines/postgres/cockroachdb.ts
var cockroachdb = (facts, base) => {
  const version = /^CockroachDB \S+ v([0-9.]+)/.exec(facts.version)?.[1];
  if (version === undefined)
    return;
  return {
    ...base,
    description: `cockroachdb ${version}`,
    planning: [],
    isolation: "serializable",
    nameType: "text",
    addsPrimaryKeyLast: false,
    hasNamedLocks: false,
    hasBackendIds: false,
    listsWriters: false,
    pipelinesAreTransactions: false,
    putsFromArrays: false
  };
};

// src/engines/postgres/yugabytedb.ts
var corrupting, compare = (a, b) => {
  const [x, y] = [a.split(".").map(Number), b.split(".").map(Number)];
  for (let i = 0;i < Math.min(x.length, y.length); i++)
    if (x[i] !== y[i])
      return x[i] - y[i];
  return 0;
}, yugabytedb = (facts, base) => {
  const version = /-YB-([0-9]+(?:\.[0-9]+)*)/.exec(facts.version)?.[1];
  if (version === undefined)
    return;
  if (corrupting.some(([first, last]) => compare(version, first) >= 0 && compare(version, last) <= 0)) {
    throw new StoreRefused(`YugabyteDB ${version} loses entries of partial indexes; run a version with that mended`);
  }
  return {
    ...base,
    description: `yugabytedb ${version}`,
    beforeSchema: ["set yb_use_hash_splitting_by_default = off"],
    listsWriters: false,
    addsPrimaryKeyLast: false,
    hasNamedLocks: false,
    hasBackendIds: false,
    pipelinesAreTransactions: false
  };
};
var init_yugabytedb = __esm(() => {
  init_store_refused();
  corrupting = [
    ["2024.2.0", "2024.2.7.2"],
    ["2025.1.0", "2025.1.3.0"],
    ["2025.2.0", "2025.2.0"]
  ];
});

// src/engines/postgres/dialect.ts
var oldestNumeric = 150000, planning, sessionSettings = (statementMsMax) => [
  "set client_encoding = 'UTF8'",
  "set bytea_output = 'hex'",
  "set synchronous_commit = on",
  `set statement_timeout = ${statementMsMax}`,
  `set idle_in_transaction_session_timeout = ${statementMsMax}`,
  "set default_transaction_read_only = off"
], readFacts = async (session) => {
  const [[version]] = await session.run("select version()");
  const settings = new Map(await session.run(`select name, setting from pg_settings where name in ('server_version', 'server_version_num', 'server_encoding', 'fsync', 'data_checksums')`));
  const [extension] = await session.run(`select extversion from pg_extension where extname = 'citus'`);
  return {
    version,
    number: settings.get("server_version") ?? "",
    numeric: Number(settings.get("server_version_num") ?? 0),
    encoding: settings.get("server_encoding") ?? "",
    fsync: settings.get("fsync"),
    dataChecksums: /-YB-|CockroachDB/.test(version) ? undefined : settings.get("data_checksums"),
    citus: extension?.[0] ?? undefined
  };
}, dialectOf = (facts, statementMsMax) => {
  const base = {
    description: `postgres ${facts.number.split(" ")[0]}`,
    settings: sessionSettings(statementMsMax),
    planning,
    isolation: "read committed",
    nameType: 'text collate "C"',
    beforeSchema: [],
    afterSchema: [],
    addsPrimaryKeyLast: true,
    hasBackendIds: true,
    hasNamedLocks: true,
    pipelinesAreTransactions: true,
    guardsWrites: true,
    putsFromArrays: true,
    listsWriters: true,
    namesManyTables: true
  };
  if (facts.encoding.replace("-", "").toUpperCase() !== "UTF8") {
    throw new StoreRefused(`the database has the encoding ${facts.encoding}; make one with encoding UTF8`);
  }
  const own = cockroachdb(facts, base) ?? yugabytedb(facts, base);
  if (own !== undefined)
    return own;
  if (facts.numeric < oldestNumeric) {
    throw new StoreRefused(`the server is PostgreSQL ${facts.number}; the oldest supported version is 15`);
  }
  return citus(facts, base) ?? base;
}, openingOf = ({ settings, isolation, planning }) => [
  ...settings,
  `set default_transaction_isolation = '${isolation}'`,
  ...planning,
  `select current_setting('transaction_read_only')`
].join("; ");
var init_dialect = __esm(() => {
  init_store_refused();
  init_yugabytedb();
  planning = [
    "set plan_cache_mode = force_generic_plan",
    ...["seqscan", "bitmapscan", "sort", "hashjoin", "mergejoin"].map((way) => `set enable_${way} = off`),
    "set jit = off"
  ];
});

// src/engines/postgres/connect.ts
var connectMsMax = 5000, connectSession = async (url, dialect) => {
  const session = await Session.connect(url, connectMsMax);
  const timer = setTimeout(() => session.destroy(), connectMsMax);
  try {
    const [readOnly] = await session.run(openingOf(dialect));
    if (readOnly?.[0] !== "off")
      throw new StoreRefused("the database takes no writes: it is a standby or read-only");
    return session;
  } catch (error) {
    session.destroy();
    throw error;
  } finally {
    clearTimeout(timer);
  }
}, shareConnections = async (one, other) => {
  const backendOf = async (session) => (await session.run("select pg_backend_pid()"))[0][0];
  const first = await backendOf(one);
  return await backendOf(other) === first || await backendOf(one) !== first;
}, connectLongSession = async (url, dialect) => {
  let session;
  try {
    session = await connectSession(url, dialect);
  } catch {
    throw unavailable2("The database cannot be reached.");
  }
  await session.run("set statement_timeout = 0; set idle_in_transaction_session_timeout = 0");
  return session;
};
var init_connect = __esm(() => {
  init_store_refused();
  init_dialect();
  init_driver();
  init_failure();
});

// src/engines/postgres/gathering.ts
class Gathering {
  #pool;
  #way;
  #waiting = new Map;
  constructor(pool, way) {
    this.#pool = pool;
    this.#way = way;
  }
  run(holder, call) {
    const { promise, resolve, reject } = Promise.withResolvers();
    const own = { holder, call, resolve };
    const group = this.#way.groupOf(holder);
    const waiting = this.#waiting.get(group) ?? new Set;
    if (waiting.size === 0)
      this.#waiting.set(group, waiting);
    waiting.add(own);
    this.#pool.run(holder, (session) => this.#go(session, group, own)).catch((error) => {
      if (this.#take(group, own))
        reject(error);
    });
    return promise;
  }
  #take(group, one) {
    const waiting = this.#waiting.get(group);
    if (!waiting?.delete(one))
      return false;
    if (waiting.size === 0)
      this.#waiting.delete(group);
    return true;
  }
  async#go(session, group, first) {
    if (!this.#take(group, first))
      return;
    const together = [first];
    const calls = [first.call];
    for (const next of this.#waiting.get(group) ?? []) {
      if (together.length >= this.#way.most)
        break;
      if (!this.#way.fits(calls, next.call))
        continue;
      this.#take(group, next);
      together.push(next);
      calls.push(next.call);
    }
    try {
      const results = await this.#way.send(session, calls);
      for (const [i, { resolve }] of together.entries())
        resolve(results[i]);
    } catch (error) {
      const alone = together.length === 1;
      for (const { holder, call, resolve } of together)
        resolve(this.#way.recover(holder, call, error, alone));
      throw error;
    }
  }
}

// src/engines/postgres/database.ts
class Database5 {
  #pool;
  #msMax;
  #pipelinesAreTransactions;
  #lookUps;
  constructor(pool, statementMsMax, pipelinesAreTransactions) {
    this.#pool = pool;
    this.#pipelinesAreTransactions = pipelinesAreTransactions;
    this.#msMax = statementMsMax + answerGraceMs;
    const way = {
      most: lookUpsTogetherMax,
      groupOf: () => 0,
      fits: () => true,
      send: (session, together) => this.send(session, together)
    };
    this.#lookUps = this.gather(way, (step) => step, false);
  }
  send(session, steps) {
    return session.send(steps, this.#msMax);
  }
  read(holder, ...steps) {
    return this.#attempt(holder, false, (session) => session.send(steps, this.#msMax));
  }
  lookUp(holder, step) {
    return this.#lookUps.run(holder, step);
  }
  gather(way, stepOf, commits) {
    const recover = async (holder, call, error, alone) => {
      const again = alone ? isRetryable(error) || isLost(error) : true;
      if (!again || !isUndone(error, commits))
        throw toCallersError(error, commits);
      const [result] = await (commits ? this.write(holder, stepOf(call)) : this.read(holder, stepOf(call)));
      return result;
    };
    return new Gathering(this.#pool, { ...way, recover });
  }
  write(holder, ...steps) {
    if (steps.length > 1 && !this.#pipelinesAreTransactions) {
      return this.transaction(holder, ({ commit }) => commit(...steps));
    }
    return this.#attempt(holder, true, (session) => session.send(steps, this.#msMax));
  }
  async transaction(holder, work) {
    let committing = false;
    const run = async (session) => {
      committing = false;
      let open = true;
      let first = true;
      const transaction = {
        send: async (...steps) => {
          const all = first ? [begin, ...steps] : steps;
          const results = await session.send(all, this.#msMax);
          if (first)
            results.shift();
          first = false;
          return results;
        },
        commit: async (...steps) => {
          committing = true;
          const all = first ? [begin, ...steps, commit] : [...steps, commit];
          const results = await session.send(all, this.#msMax);
          open = false;
          return results.slice(first ? 1 : 0, -1);
        }
      };
      try {
        return await work(transaction);
      } finally {
        if (open && !session.isGone)
          await session.send([rollback], this.#msMax).catch(() => session.destroy());
      }
    };
    return this.#attempt(holder, () => committing, run);
  }
  async#attempt(holder, commits, work) {
    for (let attempt = 1;; attempt++) {
      try {
        return await this.#pool.run(holder, work);
      } catch (error) {
        if (isRaised(error))
          throw error;
        const mayCommit = typeof commits === "boolean" ? commits : commits();
        const again = isRetryable(error) || isLost(error) && isUndone(error, mayCommit);
        const most = isLost(error) ? connectionsMax : attemptsMax;
        if (!again || attempt >= most)
          throw toCallersError(error, mayCommit);
        if (!isLost(error))
          await Bun.sleep(firstPauseMs * 2 ** attempt * (0.5 + Math.random()));
      }
    }
  }
}
var attemptsMax = 6, connectionsMax = 3, firstPauseMs = 4, answerGraceMs = 2000, lookUpsTogetherMax = 8, begin, commit, rollback, noOrg, anybody, organization = (orgId) => ({ orgId, keySeq: 0 }), holderOf = ({ orgId, apiKey }) => ({ orgId, keySeq: apiKey?.seq ?? 0 });
var init_database = __esm(() => {
  init_failure();
  begin = { statement: { name: "begin", text: "begin" }, values: [] };
  commit = { statement: { name: "commit", text: "commit" }, values: [] };
  rollback = { statement: { name: "rollback", text: "rollback" }, values: [] };
  noOrg = { orgId: 0, keySeq: 0 };
  anybody = { orgId: 0, keySeq: 1 };
});

// src/engines/postgres/rows.ts
var numberOrNull = (text) => text == null ? null : Number(text), jsonOrNull = (text) => text == null ? null : JSON.parse(text), keyColumns2 = "k.seq, k.id, k.org_id, k.kind, k.name, k.last_four, k.databases, k.created_at, k.last_used_at, k.expires_at, k.revoked_at", keyColumnCount = 11, toApiKey2 = (row, stamp = Number(row[keyColumnCount])) => ({
  seq: Number(row[0]),
  id: row[1],
  orgId: Number(row[2]),
  kind: row[3],
  name: jsonOrNull(row[4]),
  lastFour: row[5],
  databases: jsonOrNull(row[6]),
  createdAtMs: Number(row[7]),
  lastUsedAtMs: numberOrNull(row[8]),
  expiresAtMs: numberOrNull(row[9]),
  revokedAtMs: numberOrNull(row[10]),
  stamp
}), tableColumns2 = "t.id, t.org_id, t.db, t.name, t.indices, t.created_at, t.deleted_at", tableColumnCount = 7, toTable2 = (row, stamp = Number(row[tableColumnCount])) => ({
  id: Number(row[0]),
  orgId: Number(row[1]),
  db: row[2],
  name: row[3],
  indices: JSON.parse(row[4]),
  createdAtMs: Number(row[5]),
  deletedAtMs: numberOrNull(row[6]),
  stamp
}), organizationColumns = "o.id, o.name, o.created_at", toOrganization2 = (row) => ({
  id: Number(row[0]),
  name: row[1],
  createdAtMs: Number(row[2])
}), epochColumn = "(select s.registry_epoch from cubby_store s)";

// src/engines/postgres/dump.ts
async function* dumpRecords2(session, send, tableId, afterId) {
  const cursor = `dump_${tableId}_${afterId}`;
  await session.run(`declare ${cursor} no scroll cursor for
    select hash_key, range_key, octet_length(data) from cubby_records
    where table_id = ${tableId} and id > ${afterId} order by id`);
  const read = async (wanted) => {
    const steps = wanted.map(([hash, range]) => ({
      statement: record,
      values: [tableId, bytesOfHex(hash), bytesOfHex(range)]
    }));
    return (await send(...steps)).flatMap(({ rows }) => rows.map((row) => toDumped(tableId, row)));
  };
  for (;; ) {
    const places = await session.run(`fetch ${chunkRows2} from ${cursor}`);
    let wanted = [];
    let bytes = 0;
    for (const place of places) {
      wanted.push(place);
      bytes += Number(place[2]);
      if (bytes < chunkBytes2)
        continue;
      yield await read(wanted);
      wanted = [];
      bytes = 0;
    }
    if (wanted.length > 0)
      yield await read(wanted);
    if (places.length < chunkRows2)
      break;
  }
  await session.run(`close ${cursor}`);
}
var chunkBytes2, chunkRows2 = 500, organizations, keys, tables, record, count, openDump2 = async (session) => {
  const send = async (...steps) => {
    try {
      return await session.send(steps, Number.POSITIVE_INFINITY);
    } catch (error) {
      throw toCallersError(error, false);
    }
  };
  const rows = async (statement, ...values) => (await send({ statement, values }))[0].rows;
  await session.run("begin isolation level repeatable read read only");
  await session.run("select 1 from cubby_store");
  return {
    organizations: async () => (await rows(organizations)).map(toOrganization2),
    async* apiKeys() {
      for (let last = 0;; ) {
        const page = await rows(keys, last);
        for (const row of page)
          yield { ...toApiKey2(row, 0), hash: row.at(-1) };
        if (page.length === 0)
          return;
        last = Number(page.at(-1)[0]);
      }
    },
    async* tables() {
      for (let last = 0;; ) {
        const page = await rows(tables, last);
        for (const row of page)
          yield { ...toTable2(row, 0), purging: row.at(-1) === "t" };
        if (page.length === 0)
          return;
        last = Number(page.at(-1)[0]);
      }
    },
    records: (tableId, afterId) => dumpRecords2(session, send, tableId, afterId),
    countRecords: async (tableId) => Number((await rows(count, tableId))[0][0]),
    close: () => session.close()
  };
}, toDumped = (tableId, row) => {
  const [id, hashKey, rangeKey, data, ttl, updatedAt, ...entries] = row;
  return {
    id: Number(id),
    tableId,
    hashKey: fromHex(hashKey),
    rangeKey: fromHex(rangeKey),
    data,
    ttlSeconds: ttl == null ? null : Number(ttl),
    updatedAtMs: Number(updatedAt),
    entries: entries.map((entry) => entry === null ? null : fromHex(entry))
  };
};
var init_dump = __esm(() => {
  init_bytes();
  init_failure();
  init_statements();
  chunkBytes2 = 1024 * 1024;
  organizations = {
    name: "dump_orgs",
    text: `select ${organizationColumns} from cubby_organizations o order by o.id`
  };
  keys = {
    name: "dump_keys",
    text: `select ${keyColumns2}, k.hash from cubby_api_keys k where k.seq > $1::bigint order by k.seq limit ${chunkRows2}`
  };
  tables = {
    name: "dump_tables",
    text: `select ${tableColumns2}, t.purging from cubby_tables t where t.id > $1::bigint order by t.id limit ${chunkRows2}`
  };
  record = {
    name: "dump_record",
    text: `select r.id, r.hash_key, r.range_key, r.data, r.ttl, r.updated_at, ${indexColumns.map((column) => `r.${column}`).join(", ")}
    from cubby_records r where r.table_id = $1::bigint and r.hash_key = $2::bytea and r.range_key = $3::bytea`
  };
  count = {
    name: "dump_count",
    text: "select count(*) from cubby_records r where r.table_id = $1::bigint"
  };
});

// src/engines/postgres/arrays.ts
var oids, headerBytes = 20, start = (oid, count, contentBytes) => {
  const array = Buffer.allocUnsafe(headerBytes + 4 * count + contentBytes);
  array.writeInt32BE(1, 0);
  array.writeInt32BE(1, 4);
  array.writeInt32BE(oid, 8);
  array.writeInt32BE(count, 12);
  array.writeInt32BE(1, 16);
  return array;
}, ofText = (oid, values) => {
  const sizes = values.map((value) => value === null ? -1 : Buffer.byteLength(value));
  let at = headerBytes;
  const array = start(oid, values.length, sizes.reduce((sum, size) => sum + Math.max(size, 0), 0));
  for (const [i, value] of values.entries()) {
    at = array.writeInt32BE(sizes[i], at);
    if (value !== null)
      at += array.write(value, at);
  }
  return array;
}, bytesArray = (values) => ofText(oids.bytea, values), textArray = (values) => ofText(oids.text, values), bigintArray = (values) => {
  const array = start(oids.bigint, values.length, 8 * values.filter((value) => value !== null).length);
  let at = headerBytes;
  for (const value of values) {
    at = array.writeInt32BE(value === null ? -1 : 8, at);
    if (value !== null)
      at = array.writeBigInt64BE(BigInt(value), at);
  }
  return array;
};
var init_arrays = __esm(() => {
  oids = { bytea: 17, bigint: 20, text: 25 };
});

// src/engines/postgres/load.ts
var places = (count) => Array.from({ length: count }, (_, i) => `$${i + 1}`).join(", "), loadOrganization, loadKey, loadTable, loadRecord, recordTypes, loadRecords, recordsAtOnce = (records) => ({
  statement: loadRecords,
  values: [
    ...[bigintArray(records.map(({ id }) => id)), bigintArray(records.map(({ tableId }) => tableId))],
    ...[bytesArray(records.map(({ hashKey }) => hashKey)), bytesArray(records.map(({ rangeKey }) => rangeKey))],
    ...[textArray(records.map(({ data }) => data)), bigintArray(records.map(({ ttlSeconds }) => ttlSeconds))],
    bigintArray(records.map(({ updatedAtMs }) => updatedAtMs)),
    ...indexColumns.map((_, column) => bytesArray(records.map(({ entries }) => entries[column])))
  ]
}), recordsOneByOne = (records) => records.map((record) => ({
  statement: loadRecord,
  values: [
    ...[record.id, record.tableId, toBytes(record.hashKey), toBytes(record.rangeKey), record.data],
    ...[record.ttlSeconds, record.updatedAtMs, ...record.entries.map(toBytesOrNull)]
  ]
})), raiseSequence = (sequence) => ({
  name: `raise_${sequence}`,
  text: `select setval('${sequence}', greatest($1::bigint, (select last_value from ${sequence})))`
}), raiseOrganizations, raiseKeys, raiseTables, raiseRecords, json = (value) => value === null ? null : JSON.stringify(value), raise = (statement, ids) => ids.length === 0 ? [] : [{ statement, values: [ids.reduce((most, id) => Math.max(most, id))] }], loadRows = async (db, rows, fromArrays) => {
  const { organizations = [], apiKeys = [], tables = [], records = [] } = rows;
  const steps = [
    ...organizations.map(({ id, name, createdAtMs }) => ({
      statement: loadOrganization,
      values: [id, name, createdAtMs]
    })),
    ...apiKeys.map((key) => ({
      statement: loadKey,
      values: [
        ...[key.seq, key.id, key.orgId, key.kind, json(key.name), key.hash, key.lastFour, json(key.databases)],
        ...[key.createdAtMs, key.lastUsedAtMs, key.expiresAtMs, key.revokedAtMs]
      ]
    })),
    ...tables.map((table) => ({
      statement: loadTable,
      values: [
        ...[table.id, table.orgId, table.db, table.name, JSON.stringify(table.indices)],
        ...[table.createdAtMs, table.deletedAtMs, table.purging ? "t" : "f"]
      ]
    })),
    ...fromArrays && records.length > 0 ? [recordsAtOnce(records)] : recordsOneByOne(records),
    ...raise(raiseOrganizations, organizations.map(({ id }) => id)),
    ...raise(raiseKeys, apiKeys.map(({ seq }) => seq)),
    ...raise(raiseTables, tables.map(({ id }) => id)),
    ...raise(raiseRecords, records.map(({ id }) => id))
  ];
  if (steps.length > 0)
    await db.write(noOrg, ...steps);
};
var init_load = __esm(() => {
  init_arrays();
  init_bytes();
  init_database();
  init_statements();
  loadOrganization = {
    name: "load_org",
    text: "insert into cubby_organizations (id, name, created_at) values ($1, $2, $3) on conflict do nothing"
  };
  loadKey = {
    name: "load_key",
    text: `insert into cubby_api_keys (seq, id, org_id, kind, name, hash, last_four, databases, created_at, last_used_at,
    expires_at, revoked_at) values (${places(12)}) on conflict do nothing`
  };
  loadTable = {
    name: "load_table",
    text: `insert into cubby_tables (id, org_id, db, name, indices, created_at, deleted_at, purging)
    values (${places(8)}) on conflict do nothing`
  };
  loadRecord = {
    name: "load_record",
    text: `insert into cubby_records (id, table_id, hash_key, range_key, data, ttl, updated_at, ${indexColumns.join(", ")})
    values (${places(7 + indexColumns.length)}) on conflict do nothing`
  };
  recordTypes = [
    "bigint",
    "bigint",
    "bytea",
    "bytea",
    "text",
    "bigint",
    "bigint",
    ...indexColumns.map(() => "bytea")
  ];
  loadRecords = {
    name: "load_records",
    text: `insert into cubby_records (id, table_id, hash_key, range_key, data, ttl, updated_at, ${indexColumns.join(", ")})
    select * from unnest(${recordTypes.map((type, i) => `$${i + 1}::${type}[]`).join(", ")}) on conflict do nothing`
  };
  raiseOrganizations = raiseSequence("cubby_organizations_id_seq");
  raiseKeys = raiseSequence("cubby_api_keys_seq_seq");
  raiseTables = raiseSequence("cubby_tables_id_seq");
  raiseRecords = raiseSequence("cubby_record_ids");
});

// src/engines/postgres/pool.ts
class Pool2 {
  #options;
  #idle = [];
  #open = new Set;
  #waiting = new FairQueue;
  #shares = new Shares(connectionQueueRequestsMax);
  #ticker;
  #connecting = 0;
  #busy = 0;
  #failures = 0;
  #refusedUntilMs = Number.NEGATIVE_INFINITY;
  #isDown = false;
  #closed = false;
  #onQuiet;
  constructor(options) {
    this.#options = options;
    this.#ticker = setInterval(() => this.#tick(), tickMs);
    this.#ticker.unref();
    if (options.first !== undefined)
      this.#adopt(options.first);
  }
  async run(holder, work) {
    const session = (this.#closed ? undefined : this.#idle.pop()) ?? await this.#wait(holder);
    this.#busy++;
    try {
      return await work(session);
    } catch (error) {
      if (endsSession(error))
        session.destroy(error.message);
      throw error;
    } finally {
      this.#busy--;
      session.rest();
      this.#release(session);
    }
  }
  async close(msMax) {
    this.#closed = true;
    this.#refuseAll("The server is stopping.");
    if (this.#busy > 0) {
      const quiet = Promise.withResolvers();
      this.#onQuiet = quiet.resolve;
      const timer = setTimeout(quiet.resolve, msMax);
      await quiet.promise;
      clearTimeout(timer);
    }
    clearInterval(this.#ticker);
    await Promise.all([...this.#open].map((session) => session.close()));
  }
  #wait({ orgId, keySeq }) {
    if (this.#closed)
      return Promise.reject(unavailable2("The server is stopping."));
    if (this.#open.size === 0 && performance.now() < this.#refusedUntilMs) {
      return Promise.reject(unavailable2("The database cannot be reached."));
    }
    if (!this.#shares.tryTake(orgId, keySeq, 1)) {
      return Promise.reject(unavailable2("Too many requests wait for the database."));
    }
    return new Promise((give, refuse) => {
      this.#waiting.push(orgId, keySeq, { orgId, keySeq, give, refuse, sinceMs: performance.now() });
      if (this.#connecting < this.#waiting.size)
        this.#connect();
    });
  }
  #nextWaiter() {
    const waiter = this.#waiting.shift();
    if (waiter !== undefined)
      this.#shares.give(waiter.orgId, waiter.keySeq, 1);
    return waiter;
  }
  #release(session) {
    if (this.#closed && this.#busy === 0)
      this.#onQuiet?.();
    if (session.isGone)
      return;
    const waiter = this.#closed ? undefined : this.#nextWaiter();
    if (waiter !== undefined)
      waiter.give(session);
    else
      this.#idle.push(session);
  }
  #connect() {
    if (this.#closed || this.#open.size + this.#connecting >= this.#options.size)
      return;
    this.#connecting++;
    this.#options.connect().then((session) => {
      this.#connecting--;
      this.#adopt(session);
    }, (error) => {
      this.#connecting--;
      this.#connectFailed(error);
    });
  }
  #adopt(session) {
    if (this.#closed) {
      session.destroy();
      return;
    }
    if (session.isGone) {
      this.#connectFailed(new Error("the connection ended as soon as it was made"));
      return;
    }
    this.#open.add(session);
    session.onGone = (cause) => this.#drop(session, cause);
    if (this.#isDown)
      this.#options.log("info", "the database is back");
    this.#isDown = false;
    this.#failures = 0;
    this.#release(session);
  }
  #drop(session, cause) {
    this.#open.delete(session);
    const at = this.#idle.indexOf(session);
    if (at >= 0)
      this.#idle.splice(at, 1);
    if (!this.#closed)
      this.#options.log("warn", "a connection to the database ended", { cause });
    if (this.#waiting.size > 0)
      this.#connect();
  }
  #connectFailed(error) {
    if (this.#closed)
      return;
    if (++this.#failures === 1 && this.#waiting.size > 0) {
      this.#connect();
      return;
    }
    if (!this.#isDown)
      this.#options.log("error", "the database cannot be reached", { cause: error.message });
    this.#isDown = true;
    if (this.#open.size > 0)
      return;
    this.#refusedUntilMs = performance.now() + backOffMs;
    this.#refuseAll("The database cannot be reached.");
  }
  #refuseAll(why) {
    for (let waiter = this.#nextWaiter();waiter !== undefined; waiter = this.#nextWaiter()) {
      waiter.refuse(unavailable2(why));
    }
  }
  #tick() {
    const now = performance.now();
    for (const session of this.#open)
      session.endIfLate(now);
    const late = this.#waiting.removeLate(({ sinceMs }) => now - sinceMs > this.#options.waitMsMax);
    for (const { orgId, keySeq, refuse } of late) {
      this.#shares.give(orgId, keySeq, 1);
      refuse(unavailable2("No connection to the database came free in time."));
    }
  }
}
var backOffMs = 200, tickMs = 100;
var init_pool = __esm(() => {
  init_limits();
  init_failure();
});

// src/engines/postgres/record-writer.ts
class RecordWriter {
  #db;
  #guarded;
  #fromArrays;
  #puts;
  #putAlone;
  #deleteAlone;
  constructor(db, { guardsWrites, putsFromArrays }) {
    this.#db = db;
    this.#guarded = guardsWrites;
    this.#fromArrays = guardsWrites && putsFromArrays;
    this.#putAlone = byKind((kind) => putAlone(kind, guardsWrites));
    this.#deleteAlone = byKind((kind) => deleteAlone(kind, guardsWrites));
    const way = {
      most: putsTogetherMax,
      groupOf: ({ orgId }) => orgId,
      fits: canGoTogether,
      send: (session, together) => this.#putTogether(session, together)
    };
    this.#puts = db.gather(way, (call) => this.#putAloneStep(call), true);
  }
  async write(writer, table, operations, nowMs) {
    for (let attempt = 1;attempt <= raceAttemptsMax; attempt++) {
      const results = await this.#apply(writer, table, operations, nowMs);
      if (results !== undefined)
        return { applied: true, results };
      const refusal = await this.#findRefusal(writer, table, operations, nowMs);
      if (refusal !== undefined)
        return refusal;
    }
    throw unavailable2("The record kept changing.");
  }
  #apply(writer, table, operations, nowMs) {
    if (operations.length === 1)
      return this.#writeOne(writer, table, operations[0], nowMs);
    if (this.#fromArrays && operations.every(isPlainPut))
      return this.#putBatch(writer, table, operations, nowMs);
    return this.#writeBatch(writer, table, operations, nowMs);
  }
  async#writeOne(writer, table, operation, nowMs) {
    const kind = conditionKind(operation.condition);
    const isDelete = operation.op === "delete";
    if (isDelete && kind === "absent") {
      const refusal = await this.#findRefusal(writer, table, [operation], nowMs);
      return refusal === undefined ? [{ deleted: false }] : undefined;
    }
    const row = await this.#changeOne(writer, table, operation, nowMs);
    if (row !== undefined)
      return [isDelete ? { deleted: true } : { updatedAtMs: Number(row[0]) }];
    if (!isDelete || kind !== "none")
      return;
    if (this.#guarded)
      await this.#requireActive(writer, table);
    return [{ deleted: false }];
  }
  async#changeOne(writer, table, operation, nowMs) {
    if (this.#fromArrays && isPlainPut(operation)) {
      return (await this.#puts.run(holderOf(writer), { writer, table, put: operation, nowMs })).rows[0];
    }
    const kind = conditionKind(operation.condition);
    const guardKey = this.#guarded ? [writer.apiKey?.seq ?? null] : [];
    const change = changeValues(table, operation, nowMs);
    const version = versionValues(operation);
    const step = operation.op === "delete" ? { statement: this.#deleteAlone[kind], values: [...change, ...version, ...guardKey] } : { statement: this.#putAlone[kind], values: [...change, ...guardKey, ...version] };
    const [result] = await this.#db.write(holderOf(writer), step);
    return result.rows[0];
  }
  async#putBatch(writer, table, operations, nowMs) {
    const order = inLockOrder(operations);
    const puts = order.map((place) => operations[place]);
    const rows = rowArrays(puts, order, puts.map(() => nowMs));
    const values = [nowSeconds(nowMs), ...rows, table.id, writer.apiKey?.seq ?? null];
    const [result] = await this.#db.write(holderOf(writer), { statement: putBatch, values });
    if (result.rows.length === 0)
      return;
    const versions = new Map(result.rows.map(([hash, range, version]) => [`${hash}${range}`, Number(version)]));
    return operations.map((put) => ({ updatedAtMs: versions.get(`${toHex(put.hashKey)}${toHex(put.rangeKey)}`) }));
  }
  #putAloneStep({ writer, table, put, nowMs }) {
    const guardKey = this.#guarded ? [writer.apiKey?.seq ?? null] : [];
    return { statement: this.#putAlone.none, values: [...changeValues(table, put, nowMs), ...guardKey] };
  }
  async#putTogether(session, calls) {
    if (calls.length === 1)
      return this.#db.send(session, [this.#putAloneStep(calls[0])]);
    const sorted = calls.map((call, place) => ({ ...call, place })).sort((a, b) => a.table.id - b.table.id || compareKeys(a.put, b.put));
    const rows = rowArrays(sorted.map(({ put }) => put), sorted.map(({ place }) => place), sorted.map(({ nowMs }) => nowMs));
    const guards = [
      bigintArray(sorted.map(({ table }) => table.id)),
      bigintArray(sorted.map(({ writer }) => writer.apiKey?.seq ?? null))
    ];
    const values = [nowSeconds(calls[0].nowMs), ...rows, ...guards];
    const [result] = await this.#db.send(session, [{ statement: putTogether, values }]);
    const versions = new Map(result.rows.map(([hash, range, version, id]) => [`${id}${hash}${range}`, version]));
    return calls.map(({ table, put }) => {
      const version = versions.get(`${table.id}${toHex(put.hashKey)}${toHex(put.rangeKey)}`);
      return version === undefined ? { rows: [], count: 0 } : { rows: [[version]], count: 1 };
    });
  }
  async#writeBatch(writer, table, operations, nowMs) {
    const steps = [];
    if (this.#guarded)
      steps.push({ statement: guardBatch, values: [table.id, writer.apiKey?.seq ?? null] });
    if (operations.some(({ op }) => op === "put"))
      steps.push({ statement: drawIds, values: [] });
    const answerAt = new Array(operations.length);
    for (const place of inLockOrder(operations)) {
      const operation = operations[place];
      if (operation.op === "delete")
        steps.push({ statement: lockInBatch, values: keyValues(table, operation) });
      answerAt[place] = steps.push(batchStep(table, operation, place, nowMs)) - 1;
    }
    let answers;
    try {
      answers = await this.#db.write(holderOf(writer), ...steps);
    } catch (error) {
      if (isRaised(error))
        return;
      throw error;
    }
    return operations.map(({ op }, i) => {
      const row = answers[answerAt[i]].rows[0];
      return op === "put" ? { updatedAtMs: Number(row[0]) } : { deleted: row[0] === "t" };
    });
  }
  async#findRefusal(writer, table, operations, nowMs) {
    const conditional = operations.flatMap((operation, i) => operation.condition === undefined ? [] : [i]);
    const [state, ...versions] = await this.#db.read(holderOf(writer), this.#stateStep(writer, table), ...conditional.map((i) => ({
      statement: currentVersion,
      values: [...keyValues(table, operations[i]), nowSeconds(nowMs)]
    })));
    requireActive(state.rows[0]);
    for (const [at, i] of conditional.entries()) {
      const row = versions[at].rows[0];
      const current = row === undefined ? undefined : Number(row[0]);
      if (!holds(operations[i].condition, current))
        return { applied: false, failedOperation: i, current };
    }
    return;
  }
  #stateStep(writer, table) {
    return { statement: guardState, values: [table.id, writer.apiKey?.seq ?? null] };
  }
  async#requireActive(writer, table) {
    const [state] = await this.#db.read(holderOf(writer), this.#stateStep(writer, table));
    requireActive(state.rows[0]);
  }
}
var putsTogetherMax = 16, putsTogetherBytesMax, raceAttemptsMax = 10, kinds, byKind = (make) => Object.fromEntries(kinds.map((kind) => [kind, make(kind)])), putInBatch2, deleteInBatch2, holds = (condition, current) => {
  if (condition === "absent")
    return current === undefined;
  if (condition === "exists")
    return current !== undefined;
  return current === condition.version;
}, keyValues = (table, key) => [table.id, toBytes(key.hashKey), toBytes(key.rangeKey)], versionValues = ({ condition }) => {
  if (typeof condition !== "object")
    return [];
  return [Number.isSafeInteger(condition.version) ? condition.version : -1];
}, changeValues = (table, operation, nowMs) => {
  const key = keyValues(table, operation);
  if (operation.op === "delete")
    return [...key, nowSeconds(nowMs)];
  const entries = operation.entries.map(toBytesOrNull);
  return [...key, operation.data, operation.ttlSeconds, operation.updatedAtMs ?? nowMs, ...entries, nowSeconds(nowMs)];
}, compareKeys = (a, b) => {
  if (a.hashKey !== b.hashKey)
    return a.hashKey < b.hashKey ? -1 : 1;
  return a.rangeKey < b.rangeKey ? -1 : a.rangeKey > b.rangeKey ? 1 : 0;
}, inLockOrder = (operations) => operations.map((_, i) => i).sort((a, b) => compareKeys(operations[a], operations[b])), rowArrays = (puts, places, nowsMs) => [
  ...[bigintArray(places), bytesArray(puts.map((put) => put.hashKey)), bytesArray(puts.map((put) => put.rangeKey))],
  ...[textArray(puts.map((put) => put.data)), bigintArray(puts.map((put) => put.ttlSeconds))],
  bigintArray(puts.map((put, i) => put.updatedAtMs ?? nowsMs[i])),
  ...indexColumns.map((_, column) => bytesArray(puts.map((put) => put.entries[column])))
], isPlainPut = (operation) => operation.op === "put" && operation.condition === undefined, batchStep = (table, operation, place, nowMs) => {
  const kind = conditionKind(operation.condition);
  const change = changeValues(table, operation, nowMs);
  const version = versionValues(operation);
  if (operation.op === "delete")
    return { statement: deleteInBatch2[kind], values: [...change, ...version] };
  const id = kind === "none" || kind === "absent" ? [place] : [];
  return { statement: putInBatch2[kind], values: [...change, ...id, ...version] };
}, canGoTogether = (together, next) => {
  let bytes = next.put.data.length;
  for (const { table, put, nowMs } of together) {
    if (table.id === next.table.id && compareKeys(put, next.put) === 0)
      return false;
    if (nowSeconds(nowMs) !== nowSeconds(next.nowMs))
      return false;
    bytes += put.data.length;
  }
  return bytes <= putsTogetherBytesMax;
}, revokedApiKey = () => new CubbyError2("revoked_api_key", "The API key has been revoked."), requireActive = ([table, key]) => {
  if (key === "f")
    throw revokedApiKey();
  if (table === "f")
    throw new CubbyError2("table_not_found", "The table has been deleted.");
};
var init_record_writer = __esm(() => {
  init_errors();
  init_limits();
  init_arrays();
  init_bytes();
  init_database();
  init_failure();
  init_statements();
  putsTogetherBytesMax = 1024 * 1024;
  if (Math.max(batchOperationsMax, putsTogetherMax) > idStride)
    throw new Error("a batch has more operations than ids");
  kinds = ["none", "exists", "version", "absent"];
  putInBatch2 = byKind(putInBatch);
  deleteInBatch2 = byKind(deleteInBatch);
});

// src/engines/postgres/registry-cache.ts
class RegistryCache2 {
  #reader;
  #leaseMs;
  #keys = new Map;
  #tables = new Map;
  #reading = new Map;
  #epoch = 0;
  #lease = neverRead;
  #renewal;
  constructor(reader, leaseMs) {
    this.#reader = reader;
    this.#leaseMs = leaseMs;
  }
  findApiKey(text) {
    const kept = this.#keys.get(text);
    if (kept !== undefined && this.#holds())
      return kept;
    return this.#find(this.#keys, text, apiKeyCacheEntriesMax, () => this.#reader.findApiKey(hashApiKey(text)));
  }
  findTable(orgId, db, name) {
    const place = `${orgId}/${db}/${name}`;
    const kept = this.#tables.get(place);
    if (kept !== undefined && this.#holds())
      return kept;
    return this.#find(this.#tables, place, tableCacheEntriesMax, () => this.#reader.findTable(orgId, db, name));
  }
  async isCurrent(stamp) {
    if (!this.#holds())
      await this.#renew();
    return stamp === this.#epoch;
  }
  moveTo(epoch) {
    this.#learn(epoch, neverRead);
  }
  #holds() {
    const age = ageOf(this.#lease);
    if (age >= this.#leaseMs)
      return false;
    if (age > this.#leaseMs / 2)
      this.#renew().catch(() => {});
    return true;
  }
  #renew() {
    this.#renewal ??= this.#readEpoch().finally(() => {
      this.#renewal = undefined;
    });
    return this.#renewal;
  }
  async#readEpoch() {
    const sent = instant();
    this.#learn(await this.#reader.epoch(), sent);
  }
  #learn(epoch, sent) {
    if (epoch < this.#epoch)
      return;
    if (epoch > this.#epoch) {
      this.#epoch = epoch;
      this.#lease = sent;
      this.#keys.clear();
      this.#tables.clear();
    } else if (sent.monotonicMs > this.#lease.monotonicMs) {
      this.#lease = sent;
    }
  }
  async#find(kept, name, most, read) {
    if (kept.has(name)) {
      await this.#renew();
      const still = kept.get(name);
      if (still !== undefined && ageOf(this.#lease) < this.#leaseMs)
        return still;
    }
    const joined = this.#reading.get(name);
    if (joined !== undefined) {
      const { value, sent } = await joined;
      if (value !== undefined && ageOf(sent) < this.#leaseMs)
        return value;
    }
    const reading = this.#read(kept, name, most, read);
    this.#reading.set(name, reading);
    try {
      return (await reading).value;
    } finally {
      if (this.#reading.get(name) === reading)
        this.#reading.delete(name);
    }
  }
  async#read(kept, name, most, read) {
    const sent = instant();
    const value = await read();
    if (value !== undefined) {
      this.#learn(value.stamp, sent);
      if (value.stamp === this.#epoch)
        keep(kept, name, value, most);
    }
    return { value, sent };
  }
}
var neverRead, instant = () => ({ monotonicMs: performance.now(), wallMs: Date.now() }), ageOf = (sent) => Math.max(performance.now() - sent.monotonicMs, Date.now() - sent.wallMs), keep = (kept, name, value, most) => {
  if (kept.size >= most && !kept.has(name))
    kept.delete(kept.keys().next().value);
  kept.set(name, value);
};
var init_registry_cache = __esm(() => {
  init_api_key();
  init_limits();
  neverRead = { monotonicMs: Number.NEGATIVE_INFINITY, wallMs: Number.NEGATIVE_INFINITY };
});

// src/engines/postgres/registry-reader.ts
class RegistryReader {
  #db;
  constructor(db) {
    this.#db = db;
  }
  async#rows(holder, statement, ...values) {
    const [result] = await this.#db.read(holder, { statement, values });
    return result.rows;
  }
  async#row(holder, statement, ...values) {
    return (await this.#db.lookUp(holder, { statement, values })).rows[0];
  }
  async epoch() {
    return Number((await this.#row(noOrg, readEpoch))[0]);
  }
  async findApiKey(hash) {
    const row = await this.#row(anybody, findKey, hash);
    return row && toApiKey2(row);
  }
  async listApiKeys(orgId, beforeSeq, limit) {
    const before = beforeSeq ?? Number.MAX_SAFE_INTEGER;
    return (await this.#rows(organization(orgId), listKeys, orgId, before, limit)).map((row) => toApiKey2(row));
  }
  async findOrganization(name) {
    if (name.includes("\x00"))
      return;
    const [row] = await this.#rows(noOrg, findOrganization, name);
    return row && toOrganization2(row);
  }
  async listOrganizations() {
    return (await this.#rows(noOrg, listOrganizations)).map(toOrganization2);
  }
  async findTable(orgId, db, name) {
    const row = await this.#row(organization(orgId), findTable, orgId, db, name);
    return row && toTable2(row);
  }
  async findDeletedTable(orgId, db, name, nowMs) {
    const [row] = await this.#rows(organization(orgId), findDeletedTable, orgId, db, name, nowMs - recoveryMs);
    return row && toTable2(row);
  }
  async listTables({ orgId, db, after, limit }) {
    return (await this.#rows(organization(orgId), listTables, orgId, db, behind(after?.name), limit)).map((row) => toTable2(row));
  }
  async listDeletedTables({ orgId, db, after, limit }, nowMs) {
    const from = [behind(after?.name), after?.deletedAtMs ?? 0];
    const rows = await this.#rows(organization(orgId), listDeletedTables, orgId, db, ...from, nowMs - recoveryMs, limit);
    return rows.map((row) => toTable2(row));
  }
  async listDatabases(orgId, after, limit) {
    return (await this.#rows(organization(orgId), listDatabases, orgId, behind(after), limit)).map((row) => row[0]);
  }
  async areActive(orgId, tableId, keySeq) {
    const [row] = await this.#rows(organization(orgId), isActive, tableId, keySeq);
    return { table: row[0] === "t", apiKey: row[1] === "t" };
  }
}
var statement = (name, text) => ({ name, text }), findKey, listKeys, findOrganization, listOrganizations, findTable, findDeletedTable, listTables, listDeletedTables, listDatabases, readEpoch, isActive, behind = (name) => name?.split("\x00", 1)[0] ?? "";
var init_registry_reader = __esm(() => {
  init_limits();
  init_database();
  findKey = statement("find_key", `select ${keyColumns2}, ${epochColumn} from cubby_api_keys k where k.hash = $1`);
  listKeys = statement("list_keys", `select ${keyColumns2}, ${epochColumn} from cubby_api_keys k
   where k.org_id = $1::bigint and k.seq < $2::bigint order by k.org_id desc, k.seq desc limit $3::bigint`);
  findOrganization = statement("find_org", `select ${organizationColumns} from cubby_organizations o where o.name = $1`);
  listOrganizations = statement("list_orgs", `select ${organizationColumns} from cubby_organizations o order by o.name`);
  findTable = statement("find_table", `select ${tableColumns2}, ${epochColumn} from cubby_tables t
   where t.org_id = $1::bigint and t.db = $2 and t.name = $3 and t.deleted_at is null`);
  findDeletedTable = statement("find_deleted_table", `select ${tableColumns2}, ${epochColumn} from cubby_tables t
   where t.org_id = $1::bigint and t.db = $2 and t.name = $3 and t.deleted_at > $4::bigint and not t.purging
   order by t.org_id desc, t.db desc, t.name desc, t.deleted_at desc limit 1`);
  listTables = statement("list_tables", `select ${tableColumns2}, ${epochColumn} from cubby_tables t
   where t.org_id = $1::bigint and t.db = $2 and t.name > $3 and t.deleted_at is null order by t.name limit $4::bigint`);
  listDeletedTables = statement("list_deleted_tables", `select ${tableColumns2}, ${epochColumn} from cubby_tables t
   where t.org_id = $1::bigint and t.db = $2 and (t.name, t.deleted_at) > ($3, $4::bigint)
     and t.deleted_at > $5::bigint and not t.purging
   order by t.name, t.deleted_at limit $6::bigint`);
  listDatabases = statement("list_databases", `with recursive d (db, place) as (
     (select t.db, 1 from cubby_tables t
      where t.org_id = $1::bigint and t.deleted_at is null and t.db > $2 order by t.db limit 1)
     union all
     select (select t.db from cubby_tables t
       where t.org_id = $1::bigint and t.deleted_at is null and t.db > d.db order by t.db limit 1), d.place + 1
     from d where d.db is not null and d.place < $3::bigint
   ) select d.db from d where d.db is not null order by d.place`);
  readEpoch = statement("epoch", `select ${epochColumn}`);
  isActive = statement("is_active", `select coalesce((select t.deleted_at is null from cubby_tables t where t.id = $1::bigint), false),
     coalesce((select k.revoked_at is null from cubby_api_keys k where k.seq = $2::bigint), false)`);
});

// src/engines/postgres/registry-writer.ts
class RegistryWriter {
  #db;
  constructor(db) {
    this.#db = db;
  }
  async#change(writer, ...steps) {
    const opening = [step2(lockOrganization, writer.orgId), step2(guardKey, writer.apiKey?.seq ?? null)];
    const results = await refusingRevoked(this.#db.write(holderOf(writer), ...opening, ...steps));
    return results.slice(opening.length);
  }
  async createApiKey(writer, key, nowMs) {
    const [made] = await this.#change(writer, step2(insertKey, ...keyValues2(writer.orgId, key, nowMs)));
    return toApiKey2(made.rows[0]);
  }
  async revokeApiKey(writer, id, nowMs) {
    const { orgId } = writer;
    if (id.includes("\x00"))
      return;
    const [, revoked] = await this.#change(writer, step2(moveEpochForKey, id, orgId), step2(revokeKey, id, orgId, nowMs));
    const row = revoked.rows[0];
    return row && toApiKey2(row);
  }
  async recordKeyUse(uses) {
    const sorted = uses.toSorted((a, b) => a.id < b.id ? -1 : 1);
    for (let at = 0;at < sorted.length; at += keyUsesPerWrite) {
      const part = sorted.slice(at, at + keyUsesPerWrite);
      await this.#db.write(noOrg, ...part.map(({ id, atMs }) => step2(noteKeyUse, id, atMs)));
    }
  }
  createOrganization(name, keys, nowMs, onlyIfFirst) {
    const insert = onlyIfFirst ? insertFirstOrganization : insertOrganization;
    return this.#db.transaction(noOrg, async ({ send, commit }) => {
      const [, made] = await send(step2(lockStore), step2(insert, name, nowMs));
      const row = made.rows[0];
      if (row === undefined)
        return;
      const organization = toOrganization2(row);
      await commit(...keys.map((key) => step2(insertKey, ...keyValues2(organization.id, key, nowMs))));
      return organization;
    });
  }
  async createTable(writer, db, name, indices, nowMs) {
    const { orgId } = writer;
    const [made, active] = await this.#change(writer, step2(insertTable, orgId, db, name, JSON.stringify(indices), nowMs), step2(activeTable, orgId, db, name));
    return { table: toTable2(active.rows[0]), created: made.rows.length > 0 };
  }
  async deleteTable(writer, db, name, nowMs) {
    const { orgId } = writer;
    const [, deleted] = await this.#change(writer, step2(moveEpochForTable, orgId, db, name), step2(markDeleted, orgId, db, name, nowMs));
    const row = deleted.rows[0];
    return row && toTable2(row);
  }
  restoreTable(writer, db, name, deletedAtMs, nowMs) {
    const { orgId, apiKey } = writer;
    const recoverable = (at) => step2(recoverableTables, orgId, db, name, nowMs - recoveryMs, at);
    return refusingRevoked(this.#db.transaction(holderOf(writer), async ({ send, commit }) => {
      const [, , active, newest, chosen] = await send(step2(lockOrganization, orgId), step2(guardKey, apiKey?.seq ?? null), step2(activeTable, orgId, db, name), recoverable(null), recoverable(deletedAtMs ?? null));
      const present = active.rows[0];
      if (present !== undefined && newest.rows.length === 0)
        return { outcome: "active", table: toTable2(present) };
      const row = chosen.rows[0];
      if (row === undefined)
        return { outcome: "missing" };
      const table = toTable2(row);
      if (present !== undefined)
        return { outcome: "taken", deletedAtMs: table.deletedAtMs };
      const [restored] = await commit(step2(unmarkDeleted, table.id));
      const back = restored.rows[0];
      return back === undefined ? { outcome: "missing" } : { outcome: "restored", table: toTable2(back) };
    }));
  }
}
var step2 = (statement, ...values) => ({ statement, values }), lockOrganization, guardKey, insertKey, moveEpochForKey, revokeKey, noteKeyUse, lockStore, insertOrganization, insertFirstOrganization, named = "t.org_id = $1::bigint and t.db = $2 and t.name = $3", insertTable, activeTable, moveEpochForTable, markDeleted, recoverableTables, unmarkDeleted, keyValues2 = (orgId, key, nowMs) => [
  ...[key.id, orgId, key.kind, key.name === null ? null : JSON.stringify(key.name), key.hash, key.lastFour],
  ...[key.databases === null ? null : JSON.stringify(key.databases), nowMs, key.expiresAtMs]
], keyUsesPerWrite = 500, refusingRevoked = async (change) => {
  try {
    return await change;
  } catch (error) {
    throw isRaised(error) ? revokedApiKey() : error;
  }
};
var init_registry_writer = __esm(() => {
  init_limits();
  init_database();
  init_failure();
  init_record_writer();
  lockOrganization = {
    name: "lock_org",
    text: "select o.id from cubby_organizations o where o.id = $1::bigint for update"
  };
  guardKey = {
    name: "guard_key",
    text: `select 1 / (case when $1::bigint is null
    or exists (select 1 from cubby_api_keys k where k.seq = $1::bigint and k.revoked_at is null) then 1 else 0 end)`
  };
  insertKey = {
    name: "insert_key",
    text: `insert into cubby_api_keys as k (id, org_id, kind, name, hash, last_four, databases, created_at, expires_at)
    values ($1, $2::bigint, $3, $4, $5, $6, $7, $8::bigint, $9::bigint) returning ${keyColumns2}, ${epochColumn}`
  };
  moveEpochForKey = {
    name: "move_epoch_key",
    text: `update cubby_store set registry_epoch = registry_epoch + 1 where exists
    (select 1 from cubby_api_keys k where k.id = $1 and k.org_id = $2::bigint and k.revoked_at is null)`
  };
  revokeKey = {
    name: "revoke_key",
    text: `update cubby_api_keys as k set revoked_at = coalesce(k.revoked_at, $3::bigint)
    where k.id = $1 and k.org_id = $2::bigint returning ${keyColumns2}, ${epochColumn}`
  };
  noteKeyUse = {
    name: "note_key_use",
    text: `update cubby_api_keys as k set last_used_at = $2::bigint
    where k.id = $1 and coalesce(k.last_used_at, 0) < $2::bigint`
  };
  lockStore = { name: "lock_store", text: "select s.id from cubby_store s for update" };
  insertOrganization = {
    name: "insert_org",
    text: `insert into cubby_organizations as o (name, created_at) values ($1, $2::bigint)
    on conflict (name) do nothing returning ${organizationColumns}`
  };
  insertFirstOrganization = {
    name: "insert_first_org",
    text: `insert into cubby_organizations as o (name, created_at)
    select $1, $2::bigint where not exists (select 1 from cubby_organizations) returning ${organizationColumns}`
  };
  insertTable = {
    name: "insert_table",
    text: `insert into cubby_tables as t (org_id, db, name, indices, created_at) values ($1::bigint, $2, $3, $4, $5::bigint)
    on conflict (org_id, db, name) where deleted_at is null do nothing returning t.id`
  };
  activeTable = {
    name: "active_table",
    text: `select ${tableColumns2}, ${epochColumn} from cubby_tables t where ${named} and t.deleted_at is null`
  };
  moveEpochForTable = {
    name: "move_epoch_table",
    text: `update cubby_store set registry_epoch = registry_epoch + 1
    where exists (select 1 from cubby_tables t where ${named} and t.deleted_at is null)`
  };
  markDeleted = {
    name: "mark_deleted",
    text: `update cubby_tables as t set deleted_at = greatest($4::bigint, 1 + coalesce((select max(d.deleted_at)
      from cubby_tables d where d.org_id = $1::bigint and d.db = $2 and d.name = $3 and d.deleted_at is not null), 0))
    where ${named} and t.deleted_at is null returning ${tableColumns2}, ${epochColumn}`
  };
  recoverableTables = {
    name: "recoverable_tables",
    text: `select ${tableColumns2}, ${epochColumn} from cubby_tables t
    where ${named} and t.deleted_at > $4::bigint and not t.purging and ($5::bigint is null or t.deleted_at = $5::bigint)
    order by t.org_id desc, t.db desc, t.name desc, t.deleted_at desc limit 1`
  };
  unmarkDeleted = {
    name: "unmark_deleted",
    text: `update cubby_tables as t set deleted_at = null where t.id = $1::bigint and not t.purging
    returning ${tableColumns2}, ${epochColumn}`
  };
});

// src/core/scan.ts
var moveBound = (scan, bound, id, order) => {
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

// src/engines/postgres/scanner.ts
var firstExpiredRows = 250, nextExpiredRows = 4000, statements, boundsOf = (scan) => {
  const id = scan.descending ? scan.highId : scan.lowId;
  if (scan.index === "t")
    return [scan.low, scan.high, id];
  const bytes = [asBuffer(scan.low), asBuffer(scan.high)];
  return scan.index === "primary" ? [...bytes, toBytes(scan.hash)] : [...bytes, id, toBytes(scan.hash)];
}, placeOf2 = (scan, row) => {
  const id = Number(row[scanColumn.id]);
  if (scan.index === "t")
    return { range: Number(row[scanColumn.updatedAt]), id };
  return { range: fromHex(row[scan.index === "primary" ? scanColumn.rangeKey : scanColumn.place]), id };
}, recordOf = (scan, row) => {
  const ttl = row[scanColumn.ttl];
  return {
    hashKey: scan.index === "primary" ? scan.hash : fromHex(row[scanColumn.hashKey]),
    rangeKey: fromHex(row[scanColumn.rangeKey]),
    data: row[scanColumn.data],
    ttlSeconds: ttl == null ? null : Number(ttl),
    updatedAtMs: Number(row[scanColumn.updatedAt])
  };
}, readPage = async ({ db, holder, table, scan, rowsMax, nowMs }) => {
  const statement = statements.get(`${scan.index} ${scan.descending}`);
  const records = [];
  const meter = new PageMeter(records);
  let expiredLeft = pageExpiredRowsMax;
  let rest = scan;
  let place;
  for (let slack = firstExpiredRows;; slack = nextExpiredRows) {
    const rowsLeft = rowsMax - records.length;
    const walkRows = rowsLeft + 1 + Math.min(slack, expiredLeft);
    const given = records.length === 0 ? 1 : 0;
    const budget = [walkRows, expiredLeft, rowsLeft, meter.bytesLeft(), given];
    const values = [table.id, nowSeconds(nowMs), ...budget, ...boundsOf(rest)];
    const [result] = await db.read(holder, { statement, values });
    let last;
    for (const row of result.rows) {
      const expired = row[scanColumn.isExpired] !== null;
      if (!expired && row[scanColumn.data] === null) {
        return { records, next: last === undefined ? place : placeOf2(scan, last) };
      }
      if (!expired) {
        const record = recordOf(scan, row);
        if (!meter.takes(record))
          return { records, next: last === undefined ? place : placeOf2(scan, last) };
        records.push(record);
      }
      last = row;
      if (expired)
        break;
    }
    if (last === undefined)
      return { records, next: undefined };
    expiredLeft -= Number(last[scanColumn.steppedOver]);
    const gaveUp = last[scanColumn.isExpired] !== null && expiredLeft <= 0;
    if (!gaveUp && last[scanColumn.endsWalk] === null)
      return { records, next: undefined };
    place = placeOf2(scan, last);
    if (gaveUp)
      return { records, next: place };
    rest = resumeScan(scan, place);
  }
};
var init_scanner = __esm(() => {
  init_limits();
  init_record_json();
  init_scan();
  init_bytes();
  init_statements();
  statements = new Map(["primary", "t", "i1", "i2", "i3", "i4", "i5"].flatMap((index) => [false, true].map((descending) => [`${index} ${descending}`, scanRecords(index, descending)])));
});

// src/engines/postgres/schema.ts
var schemaVersion2 = 1, leaseMsDefault = 1000, setupLock = 1131766393, setupAttemptsMax = 20, primaryKey = "primary key (table_id, hash_key, range_key)", tables2 = (dialect, leaseMs) => [
  `create table if not exists cubby_store (
    id int primary key check (id = 1),
    version int not null,
    lease_ms int not null,
    registry_epoch bigint not null
  )`,
  `create table if not exists cubby_organizations (
    id bigint generated by default as identity primary key,
    name ${dialect.nameType} not null unique,
    created_at bigint not null
  )`,
  `create table if not exists cubby_api_keys (
    seq bigint generated by default as identity primary key,
    id ${dialect.nameType} not null unique,
    org_id bigint not null,
    kind text not null check (kind in ('secret', 'public')),
    name text,
    hash ${dialect.nameType} not null unique,
    last_four text not null,
    databases text,
    created_at bigint not null,
    last_used_at bigint,
    expires_at bigint,
    revoked_at bigint
  )`,
  "create index if not exists cubby_api_keys_by_org on cubby_api_keys (org_id, seq)",
  `create table if not exists cubby_tables (
    id bigint generated by default as identity primary key,
    org_id bigint not null,
    db ${dialect.nameType} not null,
    name ${dialect.nameType} not null,
    indices text not null,
    created_at bigint not null,
    deleted_at bigint,
    purging boolean not null default false
  )`,
  "create unique index if not exists cubby_tables_active on cubby_tables (org_id, db, name) where deleted_at is null",
  `create unique index if not exists cubby_tables_deleted on cubby_tables (org_id, db, name, deleted_at)
    where deleted_at is not null`,
  "create index if not exists cubby_tables_to_purge on cubby_tables (deleted_at) where deleted_at is not null",
  `create sequence if not exists cubby_record_ids increment by ${idStride} cache 1`,
  `create table if not exists cubby_records (
    id bigint not null,
    table_id bigint not null,
    hash_key bytea not null,
    range_key bytea not null,
    updated_at bigint not null,
    ttl bigint,
    ${indexColumns.map((column) => `${column} bytea,`).join(" ")}
    data text not null${dialect.addsPrimaryKeyLast ? "" : `, ${primaryKey}`}
  )`,
  "create index if not exists cubby_records_by_time on cubby_records (table_id, updated_at, id)",
  "create index if not exists cubby_records_by_ttl on cubby_records (ttl) where ttl is not null",
  ...slots.map((slot) => `create index if not exists cubby_records_by_${slot}
      on cubby_records (table_id, ${slot}_hash, ${slot}_range, id) where ${slot}_hash is not null`),
  ...dialect.addsPrimaryKeyLast ? [`alter table cubby_records add ${primaryKey}`] : [],
  ...dialect.afterSchema,
  `insert into cubby_store (id, version, lease_ms, registry_epoch) values (1, ${schemaVersion2}, ${leaseMs}, 1)`
], readStore = async (session) => {
  const [there] = await session.run(`select to_regclass('cubby_store')`);
  if (there?.[0] == null)
    return;
  const [row] = await session.run("select version, lease_ms from cubby_store");
  if (row === undefined)
    return;
  const version = Number(row[0]);
  if (version > schemaVersion2) {
    throw new StoreRefused(`the store has version ${version}; this Cubby knows versions up to ${schemaVersion2}: start a newer one`);
  }
  const [sequence] = await session.run(`select cache_size from pg_sequences where sequencename = 'cubby_record_ids' and schemaname = any (current_schemas(false))`);
  return { leaseMs: Number(row[1]), idsAhead: Number(sequence?.[0] ?? 1) };
}, hasStore = async (session) => await readStore(session) !== undefined, requireRights = async (session) => {
  const wanted = ["store", "organizations", "api_keys", "tables", "records"].flatMap((table) => ["select", "insert", "update", "delete"].map((right) => `('cubby_${table}', '${right}')`));
  const [missing] = await session.run(`select name, privilege from (values ${wanted.join(", ")}) as wanted (name, privilege)
     where not has_table_privilege(name, privilege) limit 1`);
  if (missing !== undefined) {
    throw new StoreRefused(`the user may not ${missing[1]} in the table ${missing[0]}; grant it, or own the tables`);
  }
}, prepareStore2 = async (session, dialect, leaseMs) => {
  for (let attempt = 1;; attempt++) {
    const found = await readStore(session);
    if (found !== undefined) {
      await requireRights(session);
      return found;
    }
    try {
      for (const sql of dialect.beforeSchema)
        await session.run(sql);
      await session.run("begin");
      if (dialect.hasNamedLocks)
        await session.run(`select pg_advisory_xact_lock(${setupLock})`);
      const made = await readStore(session);
      if (made === undefined)
        await session.run(tables2(dialect, leaseMs).join(`;
`));
      await session.run("commit");
    } catch (error) {
      await session.run("rollback").catch(() => {});
      if (!isSetupRace(error) || attempt >= setupAttemptsMax)
        throw error;
      await Bun.sleep(20 + Math.random() * 80);
    }
  }
};
var init_schema = __esm(() => {
  init_indices();
  init_store_refused();
  init_failure();
  init_statements();
});

// src/engines/postgres/settle.ts
var marginMs = (leaseMs) => 20 + leaseMs / 5, politeMsMax = 900, cancelledMsMax = 500, writingNow, cancel, settle = async ({ db, leaseMs, listsWriters, log }) => {
  await Bun.sleep(leaseMs + marginMs(leaseMs));
  if (!listsWriters)
    return;
  try {
    let left = await writers(db);
    left = await outlive(db, left, politeMsMax);
    if (left.size === 0)
      return;
    for (const pid of left.values())
      await db.read(noOrg, { statement: cancel, values: [pid] });
    left = await outlive(db, left, cancelledMsMax);
    if (left.size > 0)
      log("warn", "a write from before a revocation or deletion is still under way", { count: left.size });
  } catch (error) {
    log("warn", "could not look for writes from before a revocation or deletion", { cause: String(error) });
  }
}, writers = async (db) => {
  const [result] = await db.read(noOrg, { statement: writingNow, values: [] });
  return new Map(result.rows.map(([pid, transaction]) => [transaction, pid]));
}, outlive = async (db, begun, msMax) => {
  const end = performance.now() + msMax;
  let left = begun;
  for (let pauseMs = 5;left.size > 0 && performance.now() < end; pauseMs = Math.min(pauseMs * 2, 100)) {
    await Bun.sleep(pauseMs);
    const now = await writers(db);
    left = new Map([...left].filter(([transaction]) => now.has(transaction)));
  }
  return left;
};
var init_settle = __esm(() => {
  init_database();
  writingNow = {
    name: "writing_now",
    text: `select l.pid, l.virtualtransaction from pg_locks l
    where l.locktype = 'relation' and l.relation = 'cubby_records'::regclass and l.mode = 'RowExclusiveLock' and l.granted
      and l.database = (select d.oid from pg_database d where d.datname = current_database())
      and l.pid <> pg_backend_pid()`
  };
  cancel = {
    name: "cancel",
    text: `select pg_cancel_backend(a.pid) from pg_stat_activity a
    where a.pid = $1::int and a.application_name = 'cubby' and a.state = 'active'`
  };
});

// src/engines/postgres/store-url.ts
import { readFileSync as readFileSync2 } from "fs";
var sslModes, parameters, refuse3 = (message) => {
  throw new StoreUrlRefused(`--store: ${message}`);
}, decode = (text) => {
  try {
    return decodeURIComponent(text);
  } catch {
    return refuse3('a percent-escape in the URL is malformed; write "%" as "%25"');
  }
}, readFile = (parameter, path) => {
  try {
    return readFileSync2(path, "utf8");
  } catch (error) {
    throw new StoreRefused(`--store: ${parameter}: ${path} cannot be read (${error.code})`);
  }
}, parseTls = (query) => {
  const mode = query.get("sslmode") ?? "disable";
  if (!sslModes.includes(mode))
    return refuse3(`sslmode takes one of ${sslModes.join(", ")}`);
  const file = (parameter) => {
    const path = query.get(parameter);
    return path === null ? undefined : readFile(parameter, path);
  };
  const [ca, cert, key] = [file("sslrootcert"), file("sslcert"), file("sslkey")];
  if (mode === "disable") {
    return ca ?? cert ?? key ? refuse3("a certificate is given but no sslmode; add sslmode=verify-full") : false;
  }
  if (mode === "verify-ca" && ca === undefined)
    return refuse3("sslmode=verify-ca needs sslrootcert, the CA to trust");
  const ssl = { ca, cert, key };
  if (mode === "require" && ca === undefined)
    ssl.rejectUnauthorized = false;
  else
    ssl.rejectUnauthorized = true;
  if (mode !== "verify-full")
    ssl.checkServerIdentity = () => {
      return;
    };
  return ssl;
}, parseStoreUrl = (text) => {
  let url;
  try {
    url = new URL(text);
  } catch {
    return refuse3("this is no URL; it takes postgres://user:password@host/database, special characters percent-encoded");
  }
  if (url.protocol !== "postgres:" && url.protocol !== "postgresql:")
    return refuse3("the URL starts with postgres://");
  for (const name of url.searchParams.keys()) {
    if (!parameters.includes(name))
      return refuse3(`the URL has a parameter that is not known; these are: ${parameters.join(", ")}`);
  }
  const query = url.searchParams;
  const host = query.get("host") ?? (decode(url.hostname).replace(/^\[(.+)\]$/, "$1") || "localhost");
  const port = Number(query.get("port") ?? (url.port || "5432"));
  if (!Number.isInteger(port) || port < 1 || port > 65535)
    return refuse3("the port takes 1 to 65535");
  const user = decode(url.username) || "postgres";
  const database = decode(url.pathname.slice(1)) || user;
  return {
    host,
    port,
    user,
    password: url.password === "" ? undefined : decode(url.password),
    database,
    ssl: parseTls(query),
    options: query.get("options") ?? undefined,
    shown: `${user}@${host}:${port}/${database}`
  };
}, isLocal = ({ host }) => host.startsWith("/") || host === "localhost" || host === "::1" || /^127\./.test(host);
var init_store_url = __esm(() => {
  init_store_refused();
  sslModes = ["disable", "require", "verify-ca", "verify-full"];
  parameters = ["sslmode", "sslrootcert", "sslcert", "sslkey", "host", "port", "options"];
});

// src/engines/postgres/upkeep.ts
class Upkeep {
  #options;
  constructor(options) {
    this.#options = options;
  }
  async#now(nowMs) {
    if (this.#options.clock === "caller")
      return nowMs;
    const [result] = await this.#options.db.read(noOrg, step3(databaseClock));
    return Math.min(nowMs, Number(result.rows[0][0]));
  }
  async sweepExpired(nowMs, rowsMax) {
    const { db, namesManyTables } = this.#options;
    const before = nowSeconds(await this.#now(nowMs) - sweepGraceMs);
    if (namesManyTables)
      return (await db.write(noOrg, step3(sweepInOne, before, rowsMax)))[0].count;
    return this.#sweepByTable(before, rowsMax);
  }
  async#sweepByTable(before, rowsMax) {
    const { db } = this.#options;
    for (let look = 1;look <= sweepLooksMax; look++) {
      const [found] = await db.read(noOrg, step3(findExpired, before, rowsMax));
      if (found.rows.length === 0)
        return 0;
      const rowsOfTable = new Map;
      for (const [tableId] of found.rows)
        rowsOfTable.set(tableId, (rowsOfTable.get(tableId) ?? 0) + 1);
      let removed = 0;
      for (const [tableId, rows] of rowsOfTable) {
        removed += (await db.write(noOrg, step3(removeExpired, tableId, before, rows)))[0].count;
      }
      if (removed > 0)
        return removed;
    }
    return 0;
  }
  async purgeTables(nowMs, rowsMax) {
    const before = await this.#now(nowMs) - recoveryMs - sweepGraceMs;
    return this.#options.db.transaction(noOrg, async ({ send, commit }) => {
      const [taken] = await send(step3(takeTable, before));
      const id = taken.rows[0]?.[0];
      if (id == null)
        return 0;
      const [, removed, left] = await send(step3(markPurging, id), step3(removeRows, id, rowsMax), step3(anyRow, id));
      if (left.rows.length > 0) {
        await commit();
        return removed.count;
      }
      const [table] = await commit(step3(removeTable, id));
      return removed.count + table.count;
    });
  }
}
var step3 = (statement, ...values) => ({ statement, values }), databaseClock, sweepInOne, findExpired, removeExpired, takeTable, markPurging, removeRows, anyRow, removeTable, sweepLooksMax = 10;
var init_upkeep = __esm(() => {
  init_limits();
  init_database();
  databaseClock = {
    name: "clock",
    text: "select floor(extract(epoch from now()) * 1000)::bigint"
  };
  sweepInOne = {
    name: "sweep",
    text: `delete from cubby_records as r using (
      select e.table_id, e.hash_key, e.range_key from cubby_records e where e.ttl <= $1::bigint
      order by e.ttl limit $2::bigint for update skip locked
    ) as x where r.table_id = x.table_id and r.hash_key = x.hash_key and r.range_key = x.range_key`
  };
  findExpired = {
    name: "find_expired",
    text: "select e.table_id from cubby_records e where e.ttl <= $1::bigint order by e.ttl limit $2::bigint"
  };
  removeExpired = {
    name: "remove_expired",
    text: `delete from cubby_records as r using (
      select e.hash_key, e.range_key from cubby_records e where e.table_id = $1::bigint and e.ttl <= $2::bigint
      order by e.ttl limit $3::bigint
    ) as x where r.table_id = $1::bigint and r.hash_key = x.hash_key and r.range_key = x.range_key and r.ttl <= $2::bigint`
  };
  takeTable = {
    name: "take_table",
    text: `select t.id from cubby_tables t where t.deleted_at <= $1::bigint order by t.deleted_at limit 1
    for update skip locked`
  };
  markPurging = {
    name: "mark_purging",
    text: "update cubby_tables set purging = true where id = $1::bigint and not purging"
  };
  removeRows = {
    name: "remove_rows",
    text: `delete from cubby_records as r using (
      select e.hash_key, e.range_key from cubby_records e where e.table_id = $1::bigint limit $2::bigint
    ) as x where r.table_id = $1::bigint and r.hash_key = x.hash_key and r.range_key = x.range_key`
  };
  anyRow = {
    name: "any_row",
    text: "select 1 from cubby_records r where r.table_id = $1::bigint limit 1"
  };
  removeTable = { name: "remove_table", text: "delete from cubby_tables where id = $1::bigint" };
});

// src/engines/postgres/engine.ts
class PostgresEngine {
  description;
  #pool;
  #db;
  #dialect;
  #registry;
  #cache;
  #registryWriter;
  #recordWriter;
  #upkeep;
  #settle;
  #openLongSession;
  constructor({ pool, db, dialect, store, sweepClock, log, openLongSession }) {
    this.description = dialect.description;
    this.#pool = pool;
    this.#db = db;
    this.#dialect = dialect;
    this.#openLongSession = openLongSession;
    this.#registry = new RegistryReader(db);
    this.#cache = new RegistryCache2(this.#registry, store.leaseMs);
    this.#registryWriter = new RegistryWriter(db);
    this.#recordWriter = new RecordWriter(db, dialect);
    this.#upkeep = new Upkeep({ db, clock: sweepClock, namesManyTables: dialect.namesManyTables });
    this.#settle = () => settle({ db, leaseMs: store.leaseMs, listsWriters: dialect.listsWriters, log });
  }
  findApiKey(text) {
    return this.#cache.findApiKey(text);
  }
  createApiKey(writer, key, nowMs) {
    return this.#registryWriter.createApiKey(writer, key, nowMs);
  }
  listApiKeys(orgId, beforeSeq, limit) {
    return this.#registry.listApiKeys(orgId, beforeSeq, limit);
  }
  async revokeApiKey(writer, id, nowMs) {
    const revoked = await this.#registryWriter.revokeApiKey(writer, id, nowMs);
    if (revoked === undefined)
      return;
    this.#cache.moveTo(revoked.stamp);
    await this.#settle();
    return revoked;
  }
  recordKeyUse(uses) {
    return this.#registryWriter.recordKeyUse(uses);
  }
  createOrganization(name, keys, nowMs) {
    return this.#registryWriter.createOrganization(name, keys, nowMs, false);
  }
  bootstrap(name, keys, nowMs) {
    return this.#registryWriter.createOrganization(name, keys, nowMs, true);
  }
  findOrganization(name) {
    return this.#registry.findOrganization(name);
  }
  listOrganizations() {
    return this.#registry.listOrganizations();
  }
  findTable(orgId, db, name) {
    return this.#cache.findTable(orgId, db, name);
  }
  findDeletedTable(orgId, db, name, nowMs) {
    return this.#registry.findDeletedTable(orgId, db, name, nowMs);
  }
  createTable(writer, db, name, indices, nowMs) {
    return this.#registryWriter.createTable(writer, db, name, indices, nowMs);
  }
  async deleteTable(writer, db, name, nowMs) {
    const deleted = await this.#registryWriter.deleteTable(writer, db, name, nowMs);
    if (deleted === undefined)
      return;
    this.#cache.moveTo(deleted.stamp);
    await this.#settle();
    return deleted;
  }
  restoreTable(writer, db, name, deletedAtMs, nowMs) {
    return this.#registryWriter.restoreTable(writer, db, name, deletedAtMs, nowMs);
  }
  listTables(listing) {
    return this.#registry.listTables(listing);
  }
  listDeletedTables(listing, nowMs) {
    return this.#registry.listDeletedTables(listing, nowMs);
  }
  listDatabases(orgId, after, limit) {
    return this.#registry.listDatabases(orgId, after, limit);
  }
  async getRecord(table, { hashKey, rangeKey }, nowMs, keySeq = 0) {
    const { rows } = await this.#db.lookUp({ orgId: table.orgId, keySeq }, {
      statement: getRecord,
      values: [table.id, toBytes(hashKey), toBytes(rangeKey), nowSeconds(nowMs)]
    });
    const row = rows[0];
    if (row === undefined)
      return;
    const [data, ttl, updatedAt] = row;
    return {
      hashKey,
      rangeKey,
      data,
      ttlSeconds: ttl == null ? null : Number(ttl),
      updatedAtMs: Number(updatedAt)
    };
  }
  scan(table, scan, rowsMax, nowMs, keySeq = 0) {
    return readPage({ db: this.#db, holder: { orgId: table.orgId, keySeq }, table, scan, rowsMax, nowMs });
  }
  async write(writer, table, operations, nowMs) {
    if (!this.#dialect.guardsWrites)
      await this.#confirm(writer, table);
    return this.#recordWriter.write(writer, table, operations, nowMs);
  }
  async#confirm(writer, table) {
    const stamp = Math.min(table.stamp, writer.apiKey?.stamp ?? table.stamp);
    if (await this.#cache.isCurrent(stamp))
      return;
    const active = await this.#registry.areActive(writer.orgId, table.id, writer.apiKey?.seq ?? 0);
    if (writer.apiKey !== undefined && !active.apiKey)
      throw revokedApiKey();
    if (!active.table)
      throw new CubbyError2("table_not_found", "The table has been deleted.");
  }
  sweepExpired(nowMs, rowsMax) {
    return this.#upkeep.sweepExpired(nowMs, rowsMax);
  }
  purgeTables(nowMs, rowsMax) {
    return this.#upkeep.purgeTables(nowMs, rowsMax);
  }
  async openDump() {
    return openDump2(await this.#openLongSession());
  }
  load(rows) {
    return loadRows(this.#db, rows, this.#dialect.putsFromArrays);
  }
  async lastRecordId(tableId) {
    const session = await this.#openLongSession();
    try {
      const [row] = await session.run(`select max(id) from cubby_records where table_id = ${Math.trunc(tableId)}`);
      return Number(row[0]);
    } finally {
      await session.close();
    }
  }
  check(noteTable) {
    return checkStore2(this.#openLongSession, this.#dialect.namesManyTables, noteTable);
  }
  async ready() {
    const { promise: late, resolve } = Promise.withResolvers();
    const timer = setTimeout(() => resolve(false), readyMsMax);
    const asked = this.#db.read(noOrg, { statement: readOnly, values: [] }).then(([result]) => result.rows[0][0] === "off", () => false);
    try {
      return await Promise.race([asked, late]);
    } finally {
      clearTimeout(timer);
    }
  }
  close() {
    return this.#pool.close(closeMsMax);
  }
}
var closeMsMax = 5000, readyMsMax = 2000, openPostgresEngine = async (options) => {
  const { poolSize = 8, waitMsMax = 5000, statementMsMax = 5000, sweepClock = "database", log = () => {} } = options;
  const url = parseStoreUrl(options.url);
  let dialect;
  let store;
  let first;
  try {
    const session = await Session.connect(url, connectMsMax);
    try {
      const facts = await readFacts(session);
      dialect = { ...dialectOf(facts, statementMsMax), ...options.dialect };
      if (options.mustExist && !await hasStore(session))
        throw new StoreRefused(`there is no store in ${url.shown}`);
      first = await connectFirst(session, url, dialect);
      store = await prepareStore2(session, dialect, options.leaseMs ?? leaseMsDefault);
      if (store.idsAhead > 1)
        log("warn", "the database gives ids out in blocks: see YugabyteDB in docs/engines.md");
      if (facts.fsync === "off")
        log("warn", "the database runs with fsync = off: what it confirms may be lost");
      if (facts.dataChecksums === "off") {
        log("warn", "the database runs with data_checksums = off: it may serve what its disk has damaged");
      }
    } finally {
      await session.close();
    }
  } catch (error) {
    first?.destroy();
    throw toStartError(error, url);
  }
  if (url.ssl === false && !isLocal(url)) {
    log("warn", "the connection to the database is not encrypted; add sslmode=verify-full to the URL");
  }
  const pool = new Pool2({ size: poolSize, waitMsMax, connect: () => connectSession(url, dialect), first, log });
  return new PostgresEngine({
    pool,
    db: new Database5(pool, statementMsMax, dialect.pipelinesAreTransactions),
    dialect,
    store,
    sweepClock,
    log,
    openLongSession: () => connectLongSession(url, dialect)
  });
}, connectFirst = async (setUp, url, dialect) => {
  let first;
  try {
    first = await connectSession(url, dialect);
  } catch (error) {
    if (isOutOfConnections(error))
      return;
    throw error;
  }
  try {
    if (dialect.hasBackendIds && await shareConnections(setUp, first))
      throw pooledByTransaction();
    return first;
  } catch (error) {
    first.destroy();
    throw error;
  }
}, readOnly;
var init_engine = __esm(() => {
  init_errors();
  init_store_refused();
  init_bytes();
  init_check();
  init_connect();
  init_database();
  init_dialect();
  init_driver();
  init_dump();
  init_failure();
  init_load();
  init_pool();
  init_record_writer();
  init_registry_cache();
  init_registry_reader();
  init_registry_writer();
  init_scanner();
  init_schema();
  init_settle();
  init_statements();
  init_store_url();
  init_upkeep();
  readOnly = { name: "read_only", text: `select current_setting('transaction_read_only')` };
});

// src/core/envelope.ts
var parseObject = (value, field) => {
  if (typeof value === "object" && value !== null && !Array.isArray(value))
    return value;
  throw new CubbyError2("invalid_request", `${field ?? "The body"} is ${describe(value)}; it takes a JSON object.`, {
    field
  });
}, refuseUnknownMembers = (members, known, prefix = "") => {
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
}, parseLimit = (value, absent, most) => {
  if (value === undefined)
    return absent;
  if (typeof value !== "number" || !Number.isInteger(value) || value < 1) {
    throw new CubbyError2("invalid_request", `limit is ${describe(value)}; it takes an integer of at least 1.`, {
      field: "limit",
      hint: `Leave limit out for ${absent}, or give 1 to ${most}.`
    });
  }
  return Math.min(value, most);
};
var init_envelope = __esm(() => {
  init_errors();
  init_names();
});

// src/core/record-data.ts
var putFields, parseRecordToPut = (members, text, span, nowMs, prefix = "", alsoKnown = []) => {
  refuseUnknownMembers(members, [...putFields, ...alsoKnown], prefix);
  const { hashKey, rangeKey } = parseRecordKey(members.hashKey, members.rangeKey, prefix);
  const value = members.data;
  const field = `${prefix}data`;
  if (typeof value !== "object" || value === null || Array.isArray(value)) {
    throw new CubbyError2("invalid_request", `${field} is ${describe(value)}; it takes a JSON object.`, {
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
}, parseTtl = (value, field, nowMs) => {
  if (value === undefined)
    return null;
  if (typeof value === "number" && Number.isInteger(value) && value >= 0 && value <= ttlSecondsMax) {
    if (nowMs !== undefined)
      refuseLongPast(value, field, nowSeconds(nowMs));
    return value;
  }
  const milliseconds = typeof value === "number" && value > ttlSecondsMax && value / 1000 <= ttlSecondsMax;
  throw new CubbyError2("invalid_ttl", `${field} is ${describe(value)}; it takes epoch seconds, an integer from 0 to ${ttlSecondsMax}.`, {
    field,
    hint: milliseconds ? `It looks like milliseconds; give seconds: ${Math.floor(value / 1000)}.` : "Leave ttl out for a record that does not expire."
  });
}, durationSecondsMax, refuseLongPast = (ttlSeconds, field, now) => {
  if (now - ttlSeconds <= ttlPastSecondsMax)
    return;
  const hint = ttlSeconds === 0 ? `Leave ttl out for a record that does not expire; a time is given in epoch seconds, now ${now}.` : ttlSeconds < durationSecondsMax ? `${ttlSeconds} looks like a duration; for ${ttlSeconds} seconds from now give ${now + ttlSeconds}.` : `It is ${new Date(ttlSeconds * 1000).toISOString()}; a day from now is ${now + 86400}.`;
  throw new CubbyError2("invalid_ttl", `${field} is ${ttlSeconds}, more than a day in the past; it takes the epoch second at which the record expires.`, { field, hint });
};
var init_record_data = __esm(() => {
  init_envelope();
  init_errors();
  init_limits();
  init_names();
  init_record_key();
  putFields = ["hashKey", "rangeKey", "data", "ttl"];
  durationSecondsMax = 10 * 365 * 86400;
});

// src/http/present.ts
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
}, keyStatus = (key, nowMs) => {
  if (key.revokedAtMs !== null)
    return "revoked";
  return key.expiresAtMs !== null && key.expiresAtMs <= nowMs ? "expired" : "active";
}, presentApiKey = (key, nowMs) => ({
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
}), presentNewApiKey = (key, text) => ({
  id: key.id,
  kind: key.kind,
  name: key.name,
  key: text,
  masked: maskApiKey(key.kind, key.lastFour),
  databases: key.databases,
  createdAt: key.createdAtMs,
  expiresAt: key.expiresAtMs
});
var init_present = __esm(() => {
  init_api_key();
  init_limits();
});

// src/core/cursor.ts
import { createHash as createHash2 } from "crypto";
var version = 1, refuse4 = (reason) => {
  throw new CubbyError2("invalid_cursor", `cursor ${reason}`, {
    field: "cursor",
    hint: "Pass the cursor of the previous answer with the same request otherwise, or leave it out to start over."
  });
}, encode = (parts) => Buffer.from(JSON.stringify([version, ...parts])).toString("base64url"), decode2 = (cursor) => {
  if (typeof cursor !== "string")
    return refuse4(`is ${describe(cursor)}; it takes a string or null.`);
  if (cursor.length > cursorCharactersMax || !/^[A-Za-z0-9_-]+$/.test(cursor))
    return refuse4("cannot be read.");
  try {
    const parts = JSON.parse(Buffer.from(cursor, "base64url").toString());
    if (Array.isArray(parts) && parts[0] === version)
      return parts.slice(1);
  } catch {}
  return refuse4("cannot be read.");
}, scanFingerprint = (tableId, scan) => {
  const bound = (value) => typeof value === "number" ? value : Buffer.from(value).toString("hex");
  const hash = scan.index === "t" ? "" : scan.hash;
  return createHash2("sha256").update(JSON.stringify([tableId, scan.index, hash, bound(scan.low), bound(scan.high), scan.descending])).digest("base64url").slice(0, 16);
}, encodeScanCursor = (tableId, scan, position, whose = scanFingerprint(tableId, scan)) => encode([whose, position.range, position.id]), decodeScanCursor = (cursor, tableId, scan, whose = scanFingerprint(tableId, scan)) => {
  const [itsOwn, range, id] = decode2(cursor);
  if (itsOwn !== whose) {
    return refuse4("belongs to another query: table, hash, index, range and direction must be those it came with.");
  }
  const rangeFits = scan.index === "t" ? Number.isSafeInteger(range) : typeof range === "string" && range.isWellFormed();
  if (!rangeFits || !Number.isSafeInteger(id) || id < 0)
    return refuse4("cannot be read.");
  return { range, id };
}, isName = (value) => typeof value === "string" && /^[a-z0-9_-]{1,64}$/.test(value), encodeListCursor = (listing, place) => encode([listing, ...place]), decodeListCursor = (cursor, listing, types) => {
  const [whose, ...place] = decode2(cursor);
  if (whose !== listing)
    return refuse4("belongs to another listing.");
  const fits = place.length === types.length && place.every((part, i) => types[i] === "number" ? Number.isSafeInteger(part) : isName(part));
  return fits ? place : refuse4("cannot be read.");
};
var init_cursor = __esm(() => {
  init_errors();
  init_limits();
  init_names();
});

// src/operations/api-keys.ts
var parseCreateApiKey = (members, nowMs) => {
  refuseUnknownMembers(members, ["kind", "name", "expiresAt", "databases"]);
  return {
    kind: parseKeyKind(members.kind),
    name: parseKeyName(members.name),
    expiresAtMs: parseExpiresAt(members.expiresAt, nowMs),
    databases: parseKeyDatabases(members.databases)
  };
}, createApiKey = async (engine, writer, request, nowMs) => {
  const { text, kept } = makeApiKey(request);
  return { apiKey: await engine.createApiKey(writer, kept, nowMs), text };
}, listApiKeys = async (engine, orgId, options) => {
  const { limit, cursor } = options;
  const before = cursor === undefined ? undefined : decodeListCursor(cursor, "keys", ["number"])[0];
  const found = await engine.listApiKeys(orgId, before, limit + 1);
  const keys = found.slice(0, limit);
  return { keys, cursor: found.length > limit ? encodeListCursor("keys", [keys.at(-1).seq]) : null };
}, revokeApiKey = async (engine, writer, id, nowMs) => {
  const revoked = await engine.revokeApiKey(writer, id, nowMs);
  if (revoked !== undefined)
    return revoked;
  throw new CubbyError2("key_not_found", "The organization has no API key of that id.", {
    hint: 'Ids are listed by GET /api/keys; they start with "key_".'
  });
};
var init_api_keys = __esm(() => {
  init_api_key();
  init_cursor();
  init_envelope();
  init_errors();
});

// src/core/awaitable.ts
var andThen = (value, use) => value instanceof Promise ? value.then(use) : use(value);

// src/http/deadlines.ts
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
var expireTogetherMax = 64;

// src/http/body.ts
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

class BodyReader {
  #inFlight = new Shares(bodiesInFlightBytesMax);
  #deadlines = new Deadlines(bodyMsMax, lookEveryMs2);
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
    const lengthHeader = headers.get("content-length");
    const length = lengthHeader === null ? undefined : parseLength(lengthHeader);
    if (length === 0 || length === undefined && request.body === null)
      return "";
    refuseOtherTypes(headers);
    if (length !== undefined && length > bytesMax)
      throw tooLarge(bytesMax);
    if (length === undefined && this.#isPaused(holder.keySeq))
      throw paused();
    const bytes = length !== undefined && length <= wholeBytesMax ? await this.#readWhole(request) : await this.#readPieces(request, bytesMax, holder);
    try {
      return decoder.decode(bytes);
    } catch {
      throw new CubbyError2("invalid_json", "The body is not valid UTF-8.", { hint: "Send JSON in UTF-8." });
    }
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
      return tooLarge(bytesMax);
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
var wholeBytesMax, joinedBytes, lookEveryMs2 = 1000, fineChunksPauseMs = 1000, pausedKeysMax = 1000, decoder, tooLarge = (bytesMax) => new CubbyError2("body_too_large", `The body is larger than ${bytesMax} bytes.`, {
  hint: "Send less at once: several records in several requests."
}), tooMany = () => new CubbyError2("unavailable", "Too many bodies of requests with this API key are arriving at once.", {
  hint: "Repeat the request after the time in Retry-After; nothing was applied."
}), cutShort = () => new CubbyError2("invalid_request", "The body ended before it was complete."), BodyAbandoned, tooSlow = () => new BodyAbandoned("unavailable", `The body did not arrive within ${bodyMsMax / 1000} seconds; nothing was applied.`, {
  hint: "Send the whole body at once."
}), tooFine = () => new BodyAbandoned("invalid_request", `The body came in more than ${bodyChunksFreeMax} chunks that have fewer than ${bodyChunkBytesMin} bytes on average.`, { hint: "Send it with Content-Length, or in larger chunks." }), paused = () => new BodyAbandoned("unavailable", "Another body of this API key came in very many chunks; chunked bodies have to wait.", {
  hint: "Repeat the request after the time in Retry-After, or send it with Content-Length."
}), ambiguousLength = () => new BodyAbandoned("invalid_request", "Content-Length is not one number.", {
  hint: "Send Content-Length once."
}), parseLength = (header) => {
  if (!/^[0-9]{1,15}$/.test(header))
    throw ambiguousLength();
  return Number(header);
}, refuseOtherTypes = (headers) => {
  const type = headers.get("content-type");
  if (type !== null && type !== "application/json" && !/^application\/json\s*(?:;|$)/i.test(type.trim())) {
    throw new CubbyError2("unsupported_media_type", "The body is not declared as application/json.", {
      hint: 'Send "Content-Type: application/json".'
    });
  }
  const encoding = headers.get("content-encoding");
  if (encoding !== null && encoding.toLowerCase() !== "identity") {
    throw new CubbyError2("unsupported_media_type", "Compressed bodies are not read.", {
      hint: "Send the body without Content-Encoding."
    });
  }
}, refuseBody = (headers) => {
  const length = headers.get("content-length");
  if ((length === null || Number(length) === 0) && !headers.has("transfer-encoding"))
    return;
  refuseOtherTypes(headers);
  throw new CubbyError2("invalid_request", "This request takes no body.", {
    hint: "Send it without one; keys go in the path, conditions in If-Match."
  });
};
var init_body = __esm(() => {
  init_errors();
  init_limits();
  wholeBytesMax = 16 * 1024;
  joinedBytes = 4 * 1024;
  decoder = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true });
  BodyAbandoned = class BodyAbandoned extends CubbyError2 {
  };
});

// src/http/status.ts
var statusOf, retryAfterSeconds = 1;
var init_status = __esm(() => {
  statusOf = {
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
});

// src/http/respond.ts
var exposedHeaders = "ETag, Retry-After, X-Request-Id", commonHeaders, respond = (requestId, body, status = 200) => {
  const response = new Response(body, { status, headers: commonHeaders });
  response.headers.set("X-Request-Id", requestId);
  return response;
}, tagged = (response, version) => {
  response.headers.set("ETag", `"${version}"`);
  return response;
}, respondJson = (requestId, body, status = 200) => respond(requestId, JSON.stringify(body), status), respondListing = (exchange, body) => respond(exchange.requestId, exchange.bodyOf(JSON.stringify(body))), respondRecord = (exchange, record) => {
  const version = String(record.updatedAtMs);
  return tagged(respond(exchange.requestId, exchange.bodyOf(recordJson(record, version))), version);
}, respondMinimal = (requestId, record) => {
  const { hashKey, rangeKey, ttlSeconds, updatedAtMs } = record;
  const body = JSON.stringify({
    hashKey,
    rangeKey: rangeKey === emptySlot ? undefined : rangeKey,
    ttl: ttlSeconds ?? undefined,
    updatedAt: updatedAtMs
  });
  return tagged(respond(requestId, body), String(updatedAtMs));
}, respondNotModified = (requestId, updatedAtMs) => tagged(respond(requestId, null, 304), String(updatedAtMs)), respondPage = (exchange, records, cursor) => {
  let items = "";
  for (let i = 0;i < records.length; i++) {
    const record = records[i];
    items += `${i === 0 ? "" : ","}${recordJson(record)}`;
  }
  const body = `{"items":[${items}],"count":${records.length},"cursor":${JSON.stringify(cursor)}}`;
  return respond(exchange.requestId, exchange.bodyOf(body));
}, respondError = (requestId, error, allow) => {
  const { code, message, field, hint } = error;
  const status = statusOf[code];
  const response = respondJson(requestId, { error: { code, message, field, hint, requestId } }, status);
  if (status === 401)
    response.headers.set("WWW-Authenticate", "Bearer");
  if (status === 503)
    response.headers.set("Retry-After", String(retryAfterSeconds));
  if (allow !== undefined)
    response.headers.set("Allow", allow);
  return response;
}, respondPreflight = (requestId) => new Response(null, {
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
var init_respond = __esm(() => {
  init_record_json();
  init_record_key();
  init_status();
  commonHeaders = new Headers({
    "Content-Type": "application/json",
    "Cache-Control": "private, no-cache",
    "Access-Control-Allow-Origin": "*",
    "Access-Control-Expose-Headers": exposedHeaders,
    "X-Content-Type-Options": "nosniff",
    Vary: "Authorization"
  });
});

// src/core/plain-body.ts
var parsePlainBody = (text) => {
  if (isCheapToBuild(text))
    return parseSmallBody(text);
  checkJson(text);
  const members = parseObject(outline(text));
  refuseDuplicateMembers(text);
  return members;
}, parseSmallBody = (text) => {
  const members = parseObject(parseJson(text));
  if (JSON.stringify(members) !== text)
    refuseDuplicateMembers(text);
  return members;
};
var init_plain_body = __esm(() => {
  init_envelope();
  init_json_scan();
  init_json_span();
});

// src/core/range.ts
var rangeOperators, refuse5 = (field, message, hint) => {
  throw new CubbyError2("invalid_range", `${field} ${message}`, { field, hint });
}, parseOperand = (value, over, field) => {
  if (over === "primary") {
    if (typeof value !== "string")
      return refuse5(field, `is ${describe(value)}; range keys are strings.`);
  } else if (over === "t") {
    const instant = typeof value === "string" ? coerceIndexValue(value) : value;
    if (typeof instant !== "number" || !Number.isFinite(instant)) {
      return refuse5(field, `is ${describe(value)}; t takes epoch milliseconds or an ISO-8601 date-time.`, 'Write it as 1767225600000 or "2026-01-01T00:00:00Z".');
    }
    return instant;
  }
  const fault = indexValueFault(value);
  if (fault !== undefined) {
    return refuse5(field, `is ${fault}; it takes ${over === "primary" ? "a string" : "a string, number or boolean"}.`);
  }
  return over === "primary" ? value : coerceIndexValue(value);
}, parsePrefix = (value, over, field) => {
  if (over === "t")
    return refuse5(field, "is refused for t, which holds numbers.", "Use between, gte or lt.");
  if (typeof value !== "string")
    return refuse5(field, `is ${describe(value)}; beginsWith takes a string.`);
  const fault = indexValueFault(value);
  return fault === undefined ? value : refuse5(field, `is ${fault}.`);
}, compareOperands = (a, b, over) => over === "primary" ? Buffer.compare(utf8Bytes(a), utf8Bytes(b)) : Buffer.compare(utf8Bytes(encodeIndexValue(a)), utf8Bytes(encodeIndexValue(b))), parseRange2 = (value, over) => {
  if (value === undefined)
    return;
  if (typeof value !== "object" || value === null || Array.isArray(value)) {
    return refuse5("range", `is ${describe(value)}; it takes an object with one operator.`, 'For example { "gte": 10 }.');
  }
  const names = Object.keys(value);
  const operator = names[0];
  if (names.length !== 1 || !rangeOperators.includes(operator)) {
    const found = names.length === 1 ? `has the operator "${names[0].slice(0, 80).toWellFormed()}"` : `has ${names.length} operators`;
    return refuse5("range", `${found}; it takes exactly one of ${rangeOperators.join(", ")}.`, names.length === 2 ? 'For two bounds use { "between": [low, high] }, both inclusive.' : undefined);
  }
  const operand = value[operator];
  const field = `range.${operator}`;
  if (operator === "beginsWith")
    return { operator, operand: parsePrefix(operand, over, field) };
  if (operator !== "between")
    return { operator, operand: parseOperand(operand, over, field) };
  if (!Array.isArray(operand) || operand.length !== 2) {
    return refuse5(field, `is ${describe(operand)}; it takes [low, high].`);
  }
  const low = parseOperand(operand[0], over, `${field}[0]`);
  const upper = parseOperand(operand[1], over, `${field}[1]`);
  if (typeof low !== typeof upper) {
    return refuse5(field, `has a ${typeof low} and a ${typeof upper}; both bounds are of one type.`);
  }
  if (compareOperands(low, upper, over) > 0) {
    return refuse5(field, "has its low bound above its high one.", "Put the lower bound first.");
  }
  return { operator, operand: low, upper };
}, prefixEnd = (prefix) => {
  for (let i = prefix.length - 1;i >= 0; i--) {
    if (prefix[i] === 255)
      continue;
    const end = prefix.slice(0, i + 1);
    end[i]++;
    return end;
  }
  return;
}, aboveAllText, beginsWithBounds = (prefix, high) => {
  const low = utf8Bytes(prefix);
  return { low, high: prefixEnd(low) ?? high };
}, comparisonBounds = (range, encode, all) => {
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
}, primaryBounds = (range) => {
  const all = { low: new Uint8Array(0), high: aboveAllText };
  if (range === undefined)
    return all;
  if (range.operator === "beginsWith")
    return beginsWithBounds(range.operand, aboveAllText);
  return comparisonBounds(range, (value) => value, all);
}, indexBounds = (range) => {
  if (range === undefined)
    return { low: new Uint8Array(0), high: aboveAllText };
  if (range.operator === "beginsWith")
    return beginsWithBounds(`s${range.operand}`, aboveAllText);
  const span = typeSpan(encodeIndexValue(range.operand));
  return comparisonBounds(range, encodeIndexValue, { low: utf8Bytes(span.low), high: utf8Bytes(span.high) });
}, timeEnd, clamp = (value) => Math.min(Math.max(value, -timeEnd), timeEnd), timeBounds = (range) => {
  if (range === undefined)
    return { low: -timeEnd, high: timeEnd };
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
var init_range = __esm(() => {
  init_errors();
  init_index_value();
  init_names();
  init_record_key();
  rangeOperators = ["eq", "lt", "lte", "gt", "gte", "between", "beginsWith"];
  aboveAllText = new Uint8Array([255]);
  timeEnd = Number.MAX_SAFE_INTEGER;
});

// src/core/query.ts
var fields, parseIndexName = (value) => {
  if (value === undefined)
    return "primary";
  if (value === "t" || slots.includes(value))
    return value;
  throw new CubbyError2("invalid_request", `index is ${describe(value)}; it takes "t" or one of "i1" to "i5".`, {
    field: "index",
    hint: "Leave index out to query by primary key."
  });
}, parseQuery2 = (members) => {
  refuseUnknownMembers(members, fields);
  const index = parseIndexName(members.index);
  if (index === "t" && members.hash !== undefined) {
    throw new CubbyError2("invalid_request", "hash is not a field of a query by t, which covers the whole table.", {
      field: "hash",
      hint: "Leave hash out, or query by primary key or a declared index."
    });
  }
  if (members.ascending !== undefined && typeof members.ascending !== "boolean") {
    throw new CubbyError2("invalid_request", `ascending is ${describe(members.ascending)}; it takes true or false.`, {
      field: "ascending"
    });
  }
  if (index === "primary")
    parseKeyPart(members.hash, "hash");
  return {
    index,
    hash: members.hash,
    range: parseRange2(members.range, index === "primary" || index === "t" ? index : "index"),
    limit: parseLimit(members.limit, pageRowsDefault, pageRowsMax),
    ascending: members.ascending ?? index !== "t",
    cursor: members.cursor ?? undefined
  };
}, declaredIndexScan = (query, slot, indices) => {
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
    throw new CubbyError2("invalid_range", `range is refused: index ${slot} was declared without a rangeField.`, {
      field: "range",
      hint: "Leave range out."
    });
  }
  const hash = encodeIndexValue(query.hash);
  return { index: slot, hash, ...indexBounds(query.range), lowId: 0, highId: 0, descending: !query.ascending };
}, wholeScan = (query, indices) => {
  const ids = { lowId: 0, highId: 0, descending: !query.ascending };
  if (query.index === "primary") {
    return { index: "primary", hash: query.hash, ...primaryBounds(query.range), ...ids };
  }
  if (query.index === "t")
    return { index: "t", ...timeBounds(query.range), ...ids };
  return declaredIndexScan(query, query.index, indices);
}, planQuery = (query, tableId, indices) => {
  const whole = wholeScan(query, indices);
  if (query.cursor === undefined)
    return { whole, page: whole, whose: undefined };
  const whose = scanFingerprint(tableId, whole);
  return { whole, page: resumeScan(whole, decodeScanCursor(query.cursor, tableId, whole, whose)), whose };
};
var init_query = __esm(() => {
  init_cursor();
  init_envelope();
  init_errors();
  init_index_value();
  init_indices();
  init_limits();
  init_names();
  init_range();
  init_record_key();
  init_scan();
  fields = ["index", "hash", "range", "limit", "ascending", "cursor"];
});

// src/operations/access.ts
var asWriter = ({ apiKey }) => ({ orgId: apiKey.orgId, apiKey }), requireTable = (access, address, nowMs) => andThen(access.engine.findTable(access.apiKey.orgId, address.db, address.table), (table) => table ?? refuseUnknownTable(access, address, nowMs)), refuseUnknownTable = async (access, address, nowMs) => {
  throw await tableNotFound(access, address, nowMs);
}, tableNotFound = async (access, address, nowMs) => {
  const { db, table } = address;
  const deleted = await access.engine.findDeletedTable(access.apiKey.orgId, db, table, nowMs);
  if (deleted === undefined) {
    return new CubbyError2("table_not_found", `There is no table ${table} in database ${db}.`, {
      hint: `Create it: POST /v1/${db}/${table}`
    });
  }
  const until = new Date(deleted.deletedAtMs + recoveryMs).toISOString();
  return new CubbyError2("table_not_found", `The table ${table} in database ${db} was deleted.`, {
    hint: `Restore it until ${until}: POST /v1/${db}/${table}/restore; or create it anew, empty: POST /v1/${db}/${table}`
  });
}, writeRecords = async (access, address, table, operations, nowMs) => {
  try {
    return await access.engine.write(asWriter(access), table, operations, nowMs);
  } catch (error) {
    if (error instanceof CubbyError2 && error.code === "table_not_found")
      throw await tableNotFound(access, address, nowMs);
    throw error;
  }
};
var init_access = __esm(() => {
  init_errors();
  init_limits();
});

// src/operations/condition.ts
var preconditionFailed = (current, field) => current === undefined ? new CubbyError2("precondition_failed", "The record does not exist; nothing was changed.", {
  field,
  hint: "Write without the condition, or with one that holds for an absent record, to create it."
}) : new CubbyError2("precondition_failed", `The record is at version ${current}; nothing was changed.`, {
  field,
  hint: "Read the record, apply your change to what it is now, and write with its new version."
});
var init_condition = __esm(() => {
  init_errors();
});

// src/operations/apply-batch.ts
function* readOperations(text, at, list) {
  let pausedAt = at;
  const walk = new ArrayWalk(text, at);
  while (walk.next()) {
    const keeps = walk.position < batchOperationsMax;
    if (keeps || text[walk.at] === "{") {
      const operation = yield* readEnvelope(text, walk.at, `operations[${walk.position}]`, { keeps });
      if (keeps)
        list.first.push(operation);
      walk.at = operation.end;
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
function* parseBatchInSteps(text, nowMs) {
  if (isCheapToBuild(text))
    parseJson(text);
  else {
    const scan = new JsonScan(text);
    while (!scan.run(stepUnits))
      yield;
  }
  const list = { first: [], count: 0 };
  const { value } = yield* readEnvelope(text, 0, "", {
    into: (name, at) => name === "operations" && text[at] === "[" ? readOperations(text, at, list) : undefined
  });
  const members = parseObject(value);
  refuseUnknownMembers(members, ["operations"]);
  const { operations } = members;
  if (!Array.isArray(operations) || list.count === 0) {
    throw new CubbyError2("invalid_request", `operations is ${Array.isArray(operations) ? "empty" : describe(operations)}; it takes 1 to ${batchOperationsMax} operations.`, { field: "operations" });
  }
  if (list.count > batchOperationsMax) {
    throw new CubbyError2("batch_too_large", `operations has ${list.count} operations; a batch takes at most ${batchOperationsMax}.`, { field: "operations", hint: `Send them in batches of ${batchOperationsMax}; each is atomic by itself.` });
  }
  const parsed = list.first.map((operation, i) => parseOperation(operation, text, nowMs, i));
  refuseDuplicateKeys(parsed);
  return parsed;
}
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
var parseIfUpdatedAt = (value, prefix) => {
  if (value === undefined)
    return;
  if (value === null)
    return "absent";
  if (Number.isSafeInteger(value))
    return { version: value };
  const field = `${prefix}ifUpdatedAt`;
  throw new CubbyError2("invalid_request", `${field} is ${describe(value)}; it takes an integer or null.`, {
    field,
    hint: "Give the updatedAt that the record must have, or null if it must not exist."
  });
}, parseOperation = ({ value, data }, text, nowMs, position) => {
  const name = `operations[${position}]`;
  const prefix = `${name}.`;
  const members = parseObject(value, name);
  if (members.op === "put") {
    const record = parseRecordToPut(members, text, data, nowMs, prefix, ["op", "ifUpdatedAt"]);
    return { op: "put", ...record, condition: parseIfUpdatedAt(members.ifUpdatedAt, prefix) };
  }
  if (members.op === "delete") {
    refuseOnDelete(members, prefix);
    const key = parseRecordKey(members.hashKey, members.rangeKey, prefix);
    return { op: "delete", ...key, condition: parseIfUpdatedAt(members.ifUpdatedAt, prefix) };
  }
  throw new CubbyError2("invalid_request", `${prefix}op is ${describe(members.op)}; it takes "put" or "delete".`, {
    field: `${prefix}op`
  });
}, refuseOnDelete = (members, prefix) => {
  for (const name of ["data", "ttl"]) {
    if (!Object.hasOwn(members, name))
      continue;
    throw new CubbyError2("invalid_request", `${prefix}${name} is refused for a delete.`, {
      field: `${prefix}${name}`,
      hint: `Leave ${name} out, or make it a put.`
    });
  }
  refuseUnknownMembers(members, ["op", "hashKey", "rangeKey", "ifUpdatedAt"], prefix);
}, refuseDuplicateKeys = (operations) => {
  const seen = new Map;
  operations.forEach(({ hashKey, rangeKey }, position) => {
    const slot = JSON.stringify([hashKey, rangeKey]);
    const earlier = seen.get(slot);
    if (earlier !== undefined) {
      throw new CubbyError2("batch_duplicate_keys", `operations[${position}] names the same record as operations[${earlier}].`, { field: `operations[${position}]`, hint: "Send the two operations in separate requests." });
    }
    seen.set(slot, position);
  });
}, toRecordOperation = (operation, indices, position) => {
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
}, applyBatch = async (access, address, batch, nowMs, run = runThrough) => {
  const table = await requireTable(access, address, nowMs);
  const operations = await run(toRecordOperations(batch, table.indices));
  const written = await writeRecords(access, address, table, operations, nowMs);
  if (!written.applied) {
    throw preconditionFailed(written.current, `operations[${written.failedOperation}].ifUpdatedAt`);
  }
  return operations.length;
};
var init_apply_batch = __esm(() => {
  init_envelope();
  init_errors();
  init_indices();
  init_json_scan();
  init_json_span();
  init_limits();
  init_names();
  init_record_data();
  init_record_key();
  init_steps();
  init_access();
  init_condition();
});

// src/operations/delete-record.ts
var deleteRecord = async (access, address, key, condition, nowMs) => {
  const table = await requireTable(access, address, nowMs);
  const written = await writeRecords(access, address, table, [{ op: "delete", ...key, condition }], nowMs);
  if (!written.applied)
    throw preconditionFailed(written.current);
  return written.results[0].deleted;
};
var init_delete_record = __esm(() => {
  init_access();
  init_condition();
});

// src/operations/get-record.ts
var getRecord2 = (access, address, key, nowMs) => andThen(requireTable(access, address, nowMs), (table) => access.engine.getRecord(table, key, nowMs, access.apiKey.seq));
var init_get_record = __esm(() => {
  init_access();
});

// src/operations/put-record.ts
var parsePut = (text, nowMs) => {
  if (isCheapToBuild(text))
    return parseSmallPut(text, nowMs);
  checkJson(text);
  const { value, data } = runThrough(readEnvelope(text, 0, ""));
  return parseRecordToPut(parseObject(value), text, data, nowMs);
}, parseSmallPut = (text, nowMs) => {
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
}, putRecord = async (access, address, record, condition, nowMs) => {
  const table = await requireTable(access, address, nowMs);
  const { hashKey, rangeKey, data, ttlSeconds } = record;
  const entries = readIndexEntries(table.indices, record);
  const put = { op: "put", hashKey, rangeKey, data, ttlSeconds, entries, condition };
  const written = await writeRecords(access, address, table, [put], nowMs);
  if (!written.applied)
    throw preconditionFailed(written.current);
  const { updatedAtMs } = written.results[0];
  return { hashKey, rangeKey, data, ttlSeconds, updatedAtMs };
};
var init_put_record = __esm(() => {
  init_envelope();
  init_indices();
  init_json_scan();
  init_json_span();
  init_record_data();
  init_steps();
  init_access();
  init_condition();
});

// src/operations/query-records.ts
var queryRecords = async (access, address, query, nowMs) => {
  const table = await requireTable(access, address, nowMs);
  const { whole, page, whose } = planQuery(query, table.id, table.indices);
  const { records, next } = await access.engine.scan(table, page, query.limit, nowMs, access.apiKey.seq);
  return { records, cursor: next === undefined ? null : encodeScanCursor(table.id, whole, next, whose) };
};
var init_query_records = __esm(() => {
  init_cursor();
  init_query();
  init_access();
});

// src/operations/tables.ts
var parseCreateTable = (members) => {
  refuseUnknownMembers(members, ["indices"]);
  return parseIndices(members.indices);
}, createTable = async (access, address, indices, nowMs) => {
  const { db, table: name } = address;
  const result = await access.engine.createTable(asWriter(access), db, name, indices, nowMs);
  if (!result.created && JSON.stringify(result.table.indices) !== JSON.stringify(indices)) {
    throw new CubbyError2("table_exists", `The table ${name} exists with other indices, and indices are immutable.`, {
      field: "indices",
      hint: `It declares ${JSON.stringify(result.table.indices)}. Use those, or create a table of another name.`
    });
  }
  return result;
}, deleteTable = async (access, address, nowMs) => {
  const table = await access.engine.deleteTable(asWriter(access), address.db, address.table, nowMs);
  if (table === undefined)
    throw await tableNotFound(access, address, nowMs);
  return table;
}, parseRestoreTable = (members) => {
  refuseUnknownMembers(members, ["deletedAt"]);
  const { deletedAt } = members;
  if (deletedAt === undefined || Number.isSafeInteger(deletedAt))
    return deletedAt;
  throw new CubbyError2("invalid_request", `deletedAt is ${describe(deletedAt)}; it takes epoch milliseconds.`, {
    field: "deletedAt",
    hint: "Leave it out for the table deleted last, or take it from GET /v1/:db?deleted=true."
  });
}, restoreTable = async (access, address, deletedAtMs, nowMs) => {
  const { db, table } = address;
  const result = await access.engine.restoreTable(asWriter(access), db, table, deletedAtMs, nowMs);
  switch (result.outcome) {
    case "restored":
    case "active":
      return result.table;
    case "taken":
      throw new CubbyError2("table_exists", `An active table has the name ${table}.`, {
        hint: `Delete it first (DELETE /v1/${db}/${table}), then restore with { "deletedAt": ${result.deletedAtMs} }.`
      });
    case "missing":
      if (deletedAtMs === undefined)
        throw await tableNotFound(access, address, nowMs);
      throw new CubbyError2("table_not_found", `No recoverable table ${table} was deleted at ${deletedAtMs}.`, {
        field: "deletedAt",
        hint: `See GET /v1/${db}?deleted=true, or leave deletedAt out for the newest.`
      });
  }
}, listTables3 = async (access, db, options, nowMs) => {
  const { deleted, limit, cursor } = options;
  const listing = `${deleted ? "deleted" : "tables"}:${db}`;
  const place = cursor === undefined ? undefined : decodeListCursor(cursor, listing, ["string", "number"]);
  const after = place && { name: place[0], deletedAtMs: place[1] };
  const request = { orgId: access.apiKey.orgId, db, after, limit: limit + 1 };
  const found = await (deleted ? access.engine.listDeletedTables(request, nowMs) : access.engine.listTables(request));
  const tables = found.slice(0, limit);
  const last = tables.at(-1);
  return {
    tables,
    cursor: found.length > limit ? encodeListCursor(listing, [last.name, last.deletedAtMs ?? 0]) : null
  };
}, listDatabases2 = async (access, options) => {
  const { limit, cursor } = options;
  const { engine, apiKey } = access;
  const after = cursor === undefined ? undefined : decodeListCursor(cursor, "databases", ["string"])[0];
  let found;
  if (apiKey.databases === null)
    found = await engine.listDatabases(apiKey.orgId, after, limit + 1);
  else {
    found = [];
    for (const db of [...apiKey.databases].sort()) {
      if (after !== undefined && db <= after)
        continue;
      const [table] = await engine.listTables({ orgId: apiKey.orgId, db, after: undefined, limit: 1 });
      if (table !== undefined)
        found.push(db);
    }
  }
  const databases = found.slice(0, limit);
  return { databases, cursor: found.length > limit ? encodeListCursor("databases", [databases.at(-1)]) : null };
};
var init_tables = __esm(() => {
  init_cursor();
  init_envelope();
  init_errors();
  init_indices();
  init_names();
  init_access();
});

// src/http/conditions.ts
var refuse6 = (header, message, hint) => {
  throw new CubbyError2("invalid_request", `${header} ${message}`, { field: header, hint });
}, refuseConditions = (headers) => {
  for (const header of ["If-Match", "If-None-Match"]) {
    if (headers.has(header))
      refuse6(header, "means nothing on this request.", "Conditions go with GET, PUT and DELETE of a record.");
  }
}, versionTag, strongTag, noVersion = -1, parseIfMatch = (value) => {
  if (value === "*")
    return "exists";
  const version = versionTag.exec(value);
  if (version !== null)
    return { version: Number(version[1]) };
  if (strongTag.test(value))
    return { version: noVersion };
  return refuse6("If-Match", "is not one strong entity tag.", 'Send the ETag of a record as it came, quotes included, for example "1767225600000"; or *.');
}, parseWriteCondition = (headers, method) => {
  const ifMatch = headers.get("if-match");
  const ifNoneMatch = headers.get("if-none-match");
  if (ifNoneMatch === null)
    return ifMatch === null ? undefined : parseIfMatch(ifMatch);
  if (method === "DELETE")
    return refuse6("If-None-Match", "means nothing on DELETE.", "Use If-Match.");
  if (ifMatch !== null)
    return refuse6("If-None-Match", "cannot stand beside If-Match.", "Send one condition.");
  if (ifNoneMatch !== "*") {
    return refuse6("If-None-Match", "takes only * on PUT.", "Send If-None-Match: * to create, If-Match to replace.");
  }
  return "absent";
}, matchesIfNoneMatch = (headers, updatedAtMs) => {
  const value = headers.get("if-none-match");
  if (value === null)
    return false;
  if (value.trim() === "*")
    return true;
  const tags = value.match(/"[^"]*"/g) ?? [];
  return tags.includes(`"${updatedAtMs}"`);
}, refuseIfMatchOnRead = (headers) => {
  if (headers.has("if-match"))
    refuse6("If-Match", "means nothing on GET.", "Use If-None-Match to revalidate a copy.");
}, wantsMinimal = (headers) => {
  const value = headers.get("prefer");
  return value !== null && /(?:^|[,;])\s*return\s*=\s*"?minimal"?\s*(?:$|[,;])/i.test(value);
};
var init_conditions = __esm(() => {
  init_errors();
  versionTag = /^"(0|[1-9][0-9]{0,15})"$/;
  strongTag = /^"[\x21\x23-\x7e\x80-\xff]*"$/;
});

// src/http/query-parameters.ts
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
      throw new CubbyError2("invalid_request", `${field} stands twice.`, { field, hint: "Send it once." });
    }
    values[name] = value;
  }
  return values;
}, parseLimitParameter = (value) => parseLimit(value === undefined ? undefined : /^[0-9]{1,15}$/.test(value) ? Number(value) : value, pageRowsDefault, pageRowsMax), parseFlagParameter = (value, name) => {
  if (value === undefined || value === "false")
    return false;
  if (value === "true")
    return true;
  throw new CubbyError2("invalid_request", `${name} is ${describe(value)}; it takes true or false.`, { field: name });
};
var init_query_parameters = __esm(() => {
  init_envelope();
  init_errors();
  init_limits();
  init_names();
});

// src/http/handlers.ts
var address = ({ params }) => ({
  db: parseName(params.db, "db"),
  table: parseName(params.table, "table")
}), refuseBadEscapes = (url, segment, field) => {
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
}, recordKey = ({ params, request }) => {
  const { hashKey, rangeKey } = params;
  refuseBadEscapes(request.url, hashKey, "hashKey");
  if (rangeKey === undefined)
    return { hashKey: parseKeyPart(hashKey, "hashKey"), rangeKey: emptySlot };
  refuseBadEscapes(request.url, rangeKey, "rangeKey");
  return { hashKey: parseKeyPart(hashKey, "hashKey"), rangeKey: parseKeyPart(rangeKey, "rangeKey") };
}, readMembers = async (exchange, optional = false) => {
  const text = await exchange.readBody(plainBodyBytesMax);
  return text === "" && optional ? {} : parsePlainBody(text);
}, refuseExtras = ({ request }) => {
  parseParameters(request.url, []);
  refuseConditions(request.headers);
}, handlePutRecord = async (exchange) => {
  const table = address(exchange);
  const { headers, url } = exchange.request;
  const record = parsePut(await exchange.readBody(bodyBytesMax), exchange.nowMs);
  parseParameters(url, []);
  const condition = parseWriteCondition(headers, "PUT");
  const stored = await putRecord(exchange.access, table, record, condition, exchange.nowMs);
  return wantsMinimal(headers) ? respondMinimal(exchange.requestId, stored) : respondRecord(exchange, stored);
}, handleGetRecord = (exchange) => {
  const table = address(exchange);
  const key = recordKey(exchange);
  const { headers, url } = exchange.request;
  parseParameters(url, []);
  refuseIfMatchOnRead(headers);
  return andThen(getRecord2(exchange.access, table, key, exchange.nowMs), (record) => {
    if (record === undefined) {
      throw new CubbyError2("record_not_found", "There is no record of that key.", {
        hint: key.rangeKey === emptySlot ? "If it has a range key, add it to the path." : undefined
      });
    }
    return matchesIfNoneMatch(headers, record.updatedAtMs) ? respondNotModified(exchange.requestId, record.updatedAtMs) : respondRecord(exchange, record);
  });
}, handleDeleteRecord = async (exchange) => {
  const table = address(exchange);
  const key = recordKey(exchange);
  const { headers, url } = exchange.request;
  refuseBody(headers);
  parseParameters(url, []);
  const condition = parseWriteCondition(headers, "DELETE");
  const deleted = await deleteRecord(exchange.access, table, key, condition, exchange.nowMs);
  return respondJson(exchange.requestId, { deleted });
}, handleQuery = async (exchange) => {
  const table = address(exchange);
  const members = await readMembers(exchange);
  refuseExtras(exchange);
  const { records, cursor } = await queryRecords(exchange.access, table, parseQuery2(members), exchange.nowMs);
  return respondPage(exchange, records, cursor);
}, handleBatch = async (exchange) => {
  const table = address(exchange);
  const text = await exchange.readBody(batchBodyBytesMax);
  const batch = await exchange.runSteps(parseBatchInSteps(text, exchange.nowMs));
  refuseExtras(exchange);
  const { access, nowMs } = exchange;
  const count = await applyBatch(access, table, batch, nowMs, (steps) => exchange.runSteps(steps));
  return respondJson(exchange.requestId, { count });
}, handleCreateTable = async (exchange) => {
  const where = address(exchange);
  const indices = parseCreateTable(await readMembers(exchange, true));
  refuseExtras(exchange);
  const { table, created } = await createTable(exchange.access, where, indices, exchange.nowMs);
  return respondJson(exchange.requestId, presentTable(table), created ? 201 : 200);
}, handleDescribeTable = async (exchange) => {
  const where = address(exchange);
  refuseExtras(exchange);
  return respondJson(exchange.requestId, presentTable(await requireTable(exchange.access, where, exchange.nowMs)));
}, handleDeleteTable = async (exchange) => {
  const where = address(exchange);
  refuseBody(exchange.request.headers);
  refuseExtras(exchange);
  return respondJson(exchange.requestId, presentTable(await deleteTable(exchange.access, where, exchange.nowMs)));
}, handleRestoreTable = async (exchange) => {
  const where = address(exchange);
  const deletedAtMs = parseRestoreTable(await readMembers(exchange, true));
  refuseExtras(exchange);
  const table = await restoreTable(exchange.access, where, deletedAtMs, exchange.nowMs);
  return respondJson(exchange.requestId, presentTable(table));
}, handleListTables = async (exchange) => {
  const db = parseName(exchange.params.db, "db");
  const parameters = parseParameters(exchange.request.url, ["limit", "cursor", "deleted"]);
  refuseConditions(exchange.request.headers);
  const options = {
    deleted: parseFlagParameter(parameters.deleted, "deleted"),
    limit: parseLimitParameter(parameters.limit),
    cursor: parameters.cursor
  };
  const { tables, cursor } = await listTables3(exchange.access, db, options, exchange.nowMs);
  return respondListing(exchange, { tables: tables.map(presentTable), cursor });
}, handleListDatabases = async (exchange) => {
  const parameters = parseParameters(exchange.request.url, ["limit", "cursor"]);
  refuseConditions(exchange.request.headers);
  const options = { limit: parseLimitParameter(parameters.limit), cursor: parameters.cursor };
  return respondListing(exchange, await listDatabases2(exchange.access, options));
}, handleCreateApiKey = async (exchange) => {
  const members = await readMembers(exchange);
  refuseExtras(exchange);
  const { access, nowMs } = exchange;
  const { apiKey, text } = await createApiKey(access.engine, asWriter(access), parseCreateApiKey(members, nowMs), nowMs);
  return respondJson(exchange.requestId, presentNewApiKey(apiKey, text), 201);
}, handleListApiKeys = async (exchange) => {
  const parameters = parseParameters(exchange.request.url, ["limit", "cursor"]);
  refuseConditions(exchange.request.headers);
  const options = { limit: parseLimitParameter(parameters.limit), cursor: parameters.cursor };
  const { engine, apiKey } = exchange.access;
  const { keys, cursor } = await listApiKeys(engine, apiKey.orgId, options);
  const nowMs = exchange.nowMs;
  return respondListing(exchange, { keys: keys.map((key) => presentApiKey(key, nowMs)), cursor });
}, handleRevokeApiKey = async (exchange) => {
  const { access, params, request } = exchange;
  refuseBadEscapes(request.url, params.id, "id");
  const id = parseKeyPart(params.id, "id");
  refuseBody(request.headers);
  refuseExtras(exchange);
  const nowMs = exchange.nowMs;
  const revoked = await revokeApiKey(access.engine, asWriter(access), id, nowMs);
  return respondJson(exchange.requestId, presentApiKey(revoked, nowMs));
};
var init_handlers = __esm(() => {
  init_errors();
  init_limits();
  init_names();
  init_plain_body();
  init_query();
  init_record_key();
  init_access();
  init_api_keys();
  init_apply_batch();
  init_delete_record();
  init_get_record();
  init_put_record();
  init_query_records();
  init_tables();
  init_body();
  init_conditions();
  init_present();
  init_query_parameters();
  init_respond();
});

// src/http/routes.ts
var readOrDeleteRecord, routes, openRoutes, literalHashKey = (path) => /^\/v1\/:db\/:table\/([a-z]+)$/.exec(path)?.[1], allowedMethods = (methods) => {
  const names = Object.keys(methods);
  if (names.includes("GET"))
    names.push("HEAD");
  return [...names, "OPTIONS"].sort().join(", ");
};
var init_routes = __esm(() => {
  init_handlers();
  readOrDeleteRecord = {
    GET: { operation: "getRecord", need: "read", handler: handleGetRecord },
    DELETE: { operation: "deleteRecord", need: "write", handler: handleDeleteRecord }
  };
  routes = {
    "/v1": { GET: { operation: "listDatabases", need: "read", handler: handleListDatabases } },
    "/v1/:db": { GET: { operation: "listTables", need: "read", handler: handleListTables } },
    "/v1/:db/:table": {
      GET: { operation: "describeTable", need: "read", handler: handleDescribeTable },
      POST: { operation: "createTable", need: "write", takesBody: true, handler: handleCreateTable },
      PUT: { operation: "putRecord", need: "write", takesBody: true, handler: handlePutRecord },
      DELETE: { operation: "deleteTable", need: "write", handler: handleDeleteTable }
    },
    "/v1/:db/:table/query": {
      ...readOrDeleteRecord,
      POST: { operation: "queryRecords", need: "read", takesBody: true, handler: handleQuery }
    },
    "/v1/:db/:table/batch": {
      ...readOrDeleteRecord,
      POST: { operation: "applyBatch", need: "write", takesBody: true, handler: handleBatch }
    },
    "/v1/:db/:table/restore": {
      ...readOrDeleteRecord,
      POST: { operation: "restoreTable", need: "write", takesBody: true, handler: handleRestoreTable }
    },
    "/v1/:db/:table/:hashKey": readOrDeleteRecord,
    "/v1/:db/:table/:hashKey/:rangeKey": readOrDeleteRecord,
    "/api/keys": {
      GET: { operation: "listApiKeys", need: "keys", handler: handleListApiKeys },
      POST: { operation: "createApiKey", need: "keys", takesBody: true, handler: handleCreateApiKey }
    },
    "/api/keys/:id": { DELETE: { operation: "revokeApiKey", need: "keys", handler: handleRevokeApiKey } }
  };
  openRoutes = {
    "/healthz": "checkHealth",
    "/readyz": "checkReadiness",
    "/openapi.json": "getDescription",
    "/docs": "getDocsPage"
  };
});

// src/http/openapi/errors.ts
var meanings, accessCodes = (need, namesDatabase) => [
  "missing_api_key",
  "invalid_api_key",
  "expired_api_key",
  "revoked_api_key",
  ...need === "read" ? [] : ["read_only_key"],
  ...namesDatabase || need === "keys" ? ["key_scope"] : [],
  "secret_key_in_browser"
], nameCodes, bodyCodes, writeCodes, errorBody = (code, { message, field, hint }) => ({
  error: { code, message, ...field && { field }, ...hint && { hint }, requestId: "HJ4c9fQ2-1z" }
}), sharedErrors;
var init_errors2 = __esm(() => {
  init_limits();
  meanings = {
    invalid_json: "The body is not JSON in UTF-8.",
    invalid_request: "A field, query parameter, header or body is unknown, doubled, missing or of the wrong kind.",
    invalid_name: "The name of a database or table does not match `[a-z0-9_-]{1,64}`.",
    reserved_name: "The name of a database or table starts with `_`.",
    invalid_key: "A record key or id is missing, empty, too long or ill-formed, or it is `.` or `..` as a whole.",
    invalid_index: "The declaration of an index is not well-formed.",
    invalid_index_value: "An indexed field, or the hash of a query, is not a string, number or boolean that an index takes.",
    index_not_declared: "The table declares no such index.",
    invalid_range: "The range is not one operator with a fitting operand, or the index has no range field.",
    invalid_cursor: "The cursor cannot be read or belongs to another request.",
    invalid_ttl: "`ttl` is not an integer of epoch seconds, or lies more than a day in the past.",
    batch_too_large: `The batch has more than ${batchOperationsMax} operations.`,
    batch_duplicate_keys: "Two operations of a batch name the same record.",
    missing_api_key: "There is no `Authorization` header.",
    invalid_api_key: "The API key is unknown or malformed.",
    expired_api_key: "The API key has expired.",
    revoked_api_key: "The API key has been revoked.",
    read_only_key: "A public key only reads records and tables.",
    key_scope: "The API key is limited to other databases; one with a limit cannot manage keys.",
    secret_key_in_browser: "A secret key was sent by a web page of another origin.",
    route_not_found: "No route has this path: a segment is empty, or there is a trailing slash.",
    table_not_found: "There is no such table; the hint shows the call that creates or restores it.",
    record_not_found: "There is no such record, or it has expired.",
    key_not_found: "The organization has no API key of that id.",
    method_not_allowed: "The path is known, the method is not one of it.",
    table_exists: "A table of that name exists: with other indices, or in the way of a restore.",
    precondition_failed: "The condition does not hold; nothing was changed.",
    record_too_large: `\`data\` has more than ${dataBytesMax.toLocaleString("en-US")} bytes of JSON.`,
    body_too_large: "The body is larger than this request takes.",
    unsupported_media_type: "The body is declared as something other than JSON, or is compressed.",
    internal: "The server failed; nothing is wrong with the request.",
    store_damaged: "Part of the store on the disk is damaged, and this request needs it. Nothing was applied; the operator restores a backup.",
    outcome_unknown: "The write may or may not have been applied: read before repeating it.",
    unavailable: "The server cannot take this request now. Nothing was applied: repeat it after `Retry-After`.",
    storage_full: "The store has no room. Nothing was applied."
  };
  nameCodes = ["invalid_name", "reserved_name"];
  bodyCodes = ["invalid_json", "body_too_large", "unsupported_media_type"];
  writeCodes = ["outcome_unknown", "storage_full"];
  sharedErrors = {
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
      hint: "Pass the cursor of the previous answer with the same request otherwise, or leave it out to start over."
    },
    missing_api_key: {
      message: "The request carries no API key.",
      hint: 'Send the header "Authorization: Bearer <API key>".'
    },
    invalid_api_key: {
      message: "The API key is malformed.",
      hint: 'Send "Authorization: Bearer svc_live_\u2026" or "svc_pub_\u2026".'
    },
    expired_api_key: {
      message: "The API key expired at 2026-01-05T10:00:00.000Z.",
      hint: "Create another key: POST /api/keys"
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
      hint: "Records: /v1/:db/:table/:hashKey[/:rangeKey]; tables: /v1/:db/:table; keys: /api/keys. No trailing slash."
    },
    table_not_found: {
      message: "There is no table invoices in database app.",
      hint: "Create it: POST /v1/app/invoices"
    },
    method_not_allowed: {
      message: "PATCH is not a method of this path.",
      hint: "It takes DELETE, GET, HEAD, OPTIONS, POST, PUT."
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
      hint: "It is our fault; the log has the cause under this requestId."
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
      message: "Too many requests are under way; nothing was applied.",
      hint: "Repeat the request after the time in Retry-After."
    },
    storage_full: {
      message: "The disk is full; nothing was applied.",
      hint: "Reads go on. Repeat the request once there is room."
    }
  };
});

// src/http/openapi/examples/example.ts
var tableCreatedAt = 1767225600000, firstOrderAt = 1767607200000, secondOrderAt = 1767693600000, draftAt = 1767697200000, laterAt = 1767780000000, tableDeletedAt = 1767312000000, indices, orders, deletedOrders, firstOrder, secondOrder, draft, put = (record, updatedAt) => ({
  method: "PUT",
  path: "/v1/app/orders",
  body: record,
  answer: { ...record, updatedAt }
}), exampleStore, deleteOrders;
var init_example = __esm(() => {
  indices = { i1: { hashField: "status", rangeField: "placedAt" } };
  orders = {
    db: "app",
    table: "orders",
    indices,
    status: "active",
    createdAt: tableCreatedAt
  };
  deletedOrders = {
    ...orders,
    status: "deleted",
    deletedAt: tableDeletedAt,
    recoverableUntil: tableDeletedAt + 7 * 24 * 60 * 60 * 1000
  };
  firstOrder = {
    hashKey: "ada",
    rangeKey: "o-1",
    data: { status: "open", total: 40, placedAt: "2026-01-05T10:00:00Z" }
  };
  secondOrder = {
    hashKey: "ada",
    rangeKey: "o-2",
    data: { status: "open", total: 25, placedAt: "2026-01-06T10:00:00Z" }
  };
  draft = { hashKey: "draft", data: { total: 0 }, ttl: 4102444800 };
  exampleStore = [
    { method: "POST", path: "/v1/app/orders", body: { indices }, answer: orders },
    put(firstOrder, firstOrderAt),
    put(secondOrder, secondOrderAt),
    put(draft, draftAt)
  ];
  deleteOrders = { method: "DELETE", path: "/v1/app/orders", answer: deletedOrders };
});

// src/http/openapi/introduction.ts
var binaryBytes = (bytes) => bytes < 1048576 ? `${bytes / 1024} KiB` : `${bytes / 1048576} MiB`, introduction;
var init_introduction = __esm(() => {
  init_limits();
  introduction = `Cubby keeps JSON records in tables. A table belongs to a database, a database to the organization of the API key that asks.

## Requests

Bodies are JSON in UTF-8, at most ${binaryBytes(plainBodyBytesMax)} (a put: ${binaryBytes(bodyBytesMax)}, a batch: ${binaryBytes(batchBodyBytesMax)}). Without a content type a body is read as JSON. Nothing is ignored: a field or query parameter that a request does not know, and a condition where it means nothing, are refused by name.

Paths are matched as they were sent: an empty segment or a trailing slash is 404. Each key in a path is percent-encoded once. Proxies may decode \`%2F\` on the way; where you cannot rule that out, read keys that hold \`/\` by query and delete them by batch.

\`ttl\` is in epoch seconds. Everything named \`\u2026At\`, and \`recoverableUntil\`, is in epoch milliseconds.

## API keys

Send \`Authorization: Bearer <API key>\`. A secret key (\`svc_live_\u2026\`) reads and writes and belongs on your server. A public key (\`svc_pub_\u2026\`) reads records and tables and may stand in a web page. The key names the organization; what another organization has answers exactly like what does not exist.

## Answers

Every answer carries \`X-Request-Id\`: yours, if you sent one of 1 to ${requestIdCharactersMax} visible ASCII characters, otherwise a new one. Answers may be kept and must be revalidated (\`Cache-Control: private, no-cache\`).

HEAD is as GET, without the body, wherever there is a GET. OPTIONS answers 204 on every path. Another method on a known path is 405 with \`Allow\`.

Fields and error codes may be added to answers at any time; ignore those that you do not know. Nothing is removed or changes its meaning under \`/v1\`.

## Errors

An error has one shape, whatever the status: \`error.code\`, \`message\` and \`requestId\`, always; \`field\` where one field is at fault; \`hint\` where there is a next step to suggest. Decide by \`code\`; messages are for people and may change.

- Everything in the 400s fails again until the request is changed.
- After 503 \`unavailable\` and 507 \`storage_full\` nothing was applied: the request may be repeated.
- After 500 \`store_damaged\` nothing was applied either, and it will fail again until the operator has restored a backup.
- After 500 \`outcome_unknown\` the write may or may not have been applied: read first.

Checks come in this order: route and method, key, kind of key, scope, names, content type, size, JSON, fields, table, index values, conditions.

## Versions of a record

\`updatedAt\` strictly increases with every write while the record exists: it is the record's version and, in quotes, its \`ETag\`. Send it back in \`If-Match\`, or as \`ifUpdatedAt\` in a batch, to write only if nobody else did meanwhile; otherwise the answer is 412 \`precondition_failed\` and nothing was changed.

## Browsers

Every answer, errors too, may be read by pages of every origin. A secret key sent by a page of another origin is refused with 403 \`secret_key_in_browser\`.

## Examples

Each example finds a database \`app\` with a table \`orders\`, which declares the index \`i1\` by \`status\` and \`placedAt\` and holds the orders \`o-1\` and \`o-2\` of \`ada\` and a record \`draft\`. Examples of one name belong together: parameters, body and answer.
`;
});

// src/http/openapi/examples/api-keys.ts
var createdAt = 1767398400000, id = "key_4fJ2mQ9sT7bXc1LwZr8a", key = "svc_pub_EXAMPLEEXAMPLEEXAMPLEEXAMPLE000000wxyz", masked2 = "svc_pub_****wxyz", web, createdWeb, listedWeb, createWeb, createApiKey2, listApiKeys2, revokeApiKey2;
var init_api_keys2 = __esm(() => {
  init_errors2();
  web = { kind: "public", name: "web shop", databases: ["app"], expiresAt: 4102444800000 };
  createdWeb = {
    id,
    kind: "public",
    name: "web shop",
    key,
    masked: masked2,
    databases: ["app"],
    createdAt,
    expiresAt: 4102444800000
  };
  listedWeb = {
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
  createWeb = { method: "POST", path: "/api/keys", body: web, answer: createdWeb };
  createApiKey2 = [
    {
      name: "secret",
      summary: "A secret key to everything",
      body: { kind: "secret", name: "backend" },
      status: 201,
      answer: {
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
      summary: "A public key to one database, until 2100",
      body: web,
      status: 201,
      answer: createdWeb
    },
    {
      name: "noSuchKind",
      summary: "A kind that there is not",
      body: { kind: "admin" },
      status: 400,
      answer: errorBody("invalid_request", {
        message: 'kind is "admin"; it takes "secret" or "public".',
        field: "kind",
        hint: "A public key reads, a secret key reads and writes."
      })
    },
    {
      name: "badName",
      summary: "A database name that is not valid",
      body: { kind: "public", databases: ["App"] },
      status: 400,
      answer: errorBody("invalid_name", {
        message: 'databases[0] is "App"; a name matches [a-z0-9_-]{1,64}.',
        field: "databases[0]",
        hint: 'Use 1 to 64 lower-case letters, digits, "_" or "-".'
      })
    },
    {
      name: "reservedName",
      summary: "A database name that is reserved",
      body: { kind: "public", databases: ["_app"] },
      status: 400,
      answer: errorBody("reserved_name", {
        message: 'databases[0] is "_app"; names that start with "_" are reserved.',
        field: "databases[0]",
        hint: 'Drop the leading "_": "app".'
      })
    }
  ];
  listApiKeys2 = [
    {
      name: "newest",
      summary: "The key made last",
      given: [createWeb],
      parameters: { limit: 1 },
      status: 200,
      answer: { keys: [listedWeb], cursor: "WzEsImtleXMiLDNd" }
    }
  ];
  revokeApiKey2 = [
    {
      name: "revoke",
      summary: "Revoke a key",
      given: [createWeb],
      parameters: { id },
      status: 200,
      answer: { ...listedWeb, status: "revoked", revokedAt: 1767484800000 }
    },
    {
      name: "unknown",
      summary: "No such key",
      parameters: { id: "key_00000000000000000000" },
      status: 404,
      answer: errorBody("key_not_found", {
        message: "The organization has no API key of that id.",
        hint: 'Ids are listed by GET /api/keys; they start with "key_".'
      })
    }
  ];
});

// src/http/openapi/examples/queries.ts
var first, second, cursor = "WzEsIlRfaGVmMWxPN3N3R0dNeGciLCJvLTIiLDJd", firstPage, queryRecords2, applyBatch2;
var init_queries = __esm(() => {
  init_errors2();
  init_example();
  first = { ...firstOrder, updatedAt: firstOrderAt };
  second = { ...secondOrder, updatedAt: secondOrderAt };
  firstPage = { hash: "ada", range: { beginsWith: "o-" }, ascending: false, limit: 1 };
  queryRecords2 = [
    {
      name: "byPrimaryKey",
      summary: "The orders of a customer, last key first",
      body: firstPage,
      status: 200,
      answer: { items: [second], count: 1, cursor }
    },
    {
      name: "nextPage",
      summary: "The next page of the same query",
      given: [
        {
          method: "POST",
          path: "/v1/app/orders/query",
          body: firstPage,
          answer: { items: [second], count: 1, cursor }
        }
      ],
      body: { ...firstPage, cursor },
      status: 200,
      answer: { items: [first], count: 1, cursor: null }
    },
    {
      name: "byRecency",
      summary: "What was written last, since a time",
      body: { index: "t", range: { gte: "2026-01-01T00:00:00Z" } },
      status: 200,
      answer: { items: [{ ...draft, updatedAt: draftAt }, second, first], count: 3, cursor: null }
    },
    {
      name: "byIndex",
      summary: "Open orders of two days",
      body: {
        index: "i1",
        hash: "open",
        range: { between: ["2026-01-05T00:00:00Z", "2026-01-06T23:59:59Z"] },
        limit: 20
      },
      status: 200,
      answer: { items: [first, second], count: 2, cursor: null }
    },
    {
      name: "typo",
      summary: "A field that is not known",
      body: { hash: "ada", limt: 10 },
      status: 400,
      answer: errorBody("invalid_request", {
        message: "limt is not a field of this request.",
        field: "limt",
        hint: "Known fields: index, hash, range, limit, ascending, cursor."
      })
    },
    {
      name: "noHash",
      summary: "By primary key, without a hash",
      body: { limit: 10 },
      status: 400,
      answer: errorBody("invalid_key", {
        message: "hash is missing; it takes a string.",
        field: "hash",
        hint: "Give hash as a string of 1 to 1024 bytes."
      })
    },
    {
      name: "nullHash",
      summary: "A hash that no index takes",
      body: { index: "i1", hash: null },
      status: 400,
      answer: errorBody("invalid_index_value", {
        message: "hash is null; index i1 takes a string, number or boolean.",
        field: "hash",
        hint: "Give the value of status to look for."
      })
    },
    {
      name: "noSuchIndex",
      summary: "A slot that was not declared",
      body: { index: "i2", hash: "ada" },
      status: 400,
      answer: errorBody("index_not_declared", {
        message: "The table declares no index i2.",
        field: "index",
        hint: "Declared: i1 (status)."
      })
    },
    {
      name: "twoOperators",
      summary: "A range with two operators",
      body: { hash: "ada", range: { gte: "o-1", lt: "o-9" } },
      status: 400,
      answer: errorBody("invalid_range", {
        message: "range has 2 operators; it takes exactly one of eq, lt, lte, gt, gte, between, beginsWith.",
        field: "range",
        hint: 'For two bounds use { "between": [low, high] }, both inclusive.'
      })
    },
    {
      name: "cursorOfAnother",
      summary: "The cursor of another query",
      given: [
        {
          method: "POST",
          path: "/v1/app/orders/query",
          body: firstPage,
          answer: { items: [second], count: 1, cursor }
        }
      ],
      body: { hash: "bob", cursor },
      status: 400,
      answer: errorBody("invalid_cursor", {
        message: "cursor belongs to another query: table, hash, index, range and direction must be those it came with.",
        field: "cursor",
        hint: "Pass the cursor of the previous answer with the same request otherwise, or leave it out to start over."
      })
    }
  ];
  applyBatch2 = [
    {
      name: "mixed",
      summary: "Create one, replace one, remove one",
      body: {
        operations: [
          { op: "put", hashKey: "bob", rangeKey: "o-3", data: { status: "open" }, ifUpdatedAt: null },
          { op: "put", hashKey: "draft", data: { total: 12 }, ttl: 4102444800 },
          { op: "delete", hashKey: "ada", rangeKey: "o-2", ifUpdatedAt: secondOrderAt }
        ]
      },
      status: 200,
      answer: { count: 3 }
    },
    {
      name: "wrongVersion",
      summary: "One condition that does not hold",
      given: [
        {
          method: "PUT",
          path: "/v1/app/orders",
          body: { ...secondOrder, data: {} },
          answer: { ...secondOrder, data: {}, updatedAt: laterAt }
        }
      ],
      body: {
        operations: [
          { op: "delete", hashKey: "draft" },
          { op: "delete", hashKey: "ada", rangeKey: "o-2", ifUpdatedAt: secondOrderAt }
        ]
      },
      status: 412,
      answer: errorBody("precondition_failed", {
        message: `The record is at version ${laterAt}; nothing was changed.`,
        field: "operations[1].ifUpdatedAt",
        hint: "Read the record, apply your change to what it is now, and write with its new version."
      })
    },
    {
      name: "sameRecordTwice",
      summary: "Two operations on one record",
      body: {
        operations: [
          { op: "delete", hashKey: "draft" },
          { op: "put", hashKey: "draft", rangeKey: "#", data: {} }
        ]
      },
      status: 400,
      answer: errorBody("batch_duplicate_keys", {
        message: "operations[1] names the same record as operations[0].",
        field: "operations[1]",
        hint: "Send the two operations in separate requests."
      })
    },
    {
      name: "noOperations",
      summary: "Nothing to do",
      body: { operations: [] },
      status: 400,
      answer: errorBody("invalid_request", {
        message: "operations is empty; it takes 1 to 25 operations.",
        field: "operations"
      })
    },
    {
      name: "noKey",
      summary: "An operation without a hash key",
      body: { operations: [{ op: "delete" }] },
      status: 400,
      answer: errorBody("invalid_key", {
        message: "operations[0].hashKey is missing; it takes a string.",
        field: "operations[0].hashKey",
        hint: "Give operations[0].hashKey as a string of 1 to 1024 bytes."
      })
    },
    {
      name: "nullInIndex",
      summary: "An indexed field that holds null",
      body: { operations: [{ op: "put", hashKey: "bob", data: { status: null } }] },
      status: 400,
      answer: errorBody("invalid_index_value", {
        message: "data.status is null; index i1 takes a string, number or boolean.",
        field: "operations[0].data.status",
        hint: "Store it under another field, or leave data.status out: the index is sparse."
      })
    },
    {
      name: "millisecondsAsTtl",
      summary: "A ttl in milliseconds",
      body: { operations: [{ op: "put", hashKey: "bob", data: {}, ttl: 4102444800000 }] },
      status: 400,
      answer: errorBody("invalid_ttl", {
        message: "operations[0].ttl is 4102444800000; it takes epoch seconds, an integer from 0 to 253402300799.",
        field: "operations[0].ttl",
        hint: "It looks like milliseconds; give seconds: 4102444800."
      })
    }
  ];
});

// src/http/openapi/examples/records.ts
var etag = (updatedAt) => ({ ETag: `"${updatedAt}"` }), overtaken, wrongVersion, thirdOrder, paidOrder, session, putRecord2, verbs, named2 = (hashKey) => ({ hashKey, data: { note: "a key like any other" } }), givenNamed = (hashKey) => [
  { method: "PUT", path: "/v1/app/orders", body: named2(hashKey), answer: { ...named2(hashKey), updatedAt: laterAt } }
], getRecord3, headRecord, absentForCondition, deleteRecord2;
var init_records = __esm(() => {
  init_errors2();
  init_example();
  overtaken = [
    {
      method: "PUT",
      path: "/v1/app/orders",
      body: { ...secondOrder, data: {} },
      answer: { ...secondOrder, data: {}, updatedAt: laterAt }
    }
  ];
  wrongVersion = errorBody("precondition_failed", {
    message: `The record is at version ${laterAt}; nothing was changed.`,
    hint: "Read the record, apply your change to what it is now, and write with its new version."
  });
  thirdOrder = {
    hashKey: "bob",
    rangeKey: "o-3",
    data: { status: "open", total: 12, placedAt: "2026-01-07T10:00:00Z" }
  };
  paidOrder = { ...firstOrder, data: { ...firstOrder.data, status: "paid" } };
  session = { hashKey: "session-7", data: { user: "ada" }, ttl: 4102444800 };
  putRecord2 = [
    {
      name: "put",
      summary: "Write a record",
      body: thirdOrder,
      status: 200,
      headers: etag(laterAt),
      answer: { ...thirdOrder, updatedAt: laterAt }
    },
    {
      name: "minimal",
      summary: "Have it answered without data",
      parameters: { Prefer: "return=minimal" },
      body: thirdOrder,
      status: 200,
      headers: etag(laterAt),
      answer: { hashKey: "bob", rangeKey: "o-3", updatedAt: laterAt }
    },
    {
      name: "expiring",
      summary: "Write a record that expires, without a range key",
      body: session,
      status: 200,
      headers: etag(laterAt),
      answer: { ...session, updatedAt: laterAt }
    },
    {
      name: "replace",
      summary: "Replace the version that was read",
      parameters: { "If-Match": `"${firstOrderAt}"` },
      body: paidOrder,
      status: 200,
      headers: etag(laterAt),
      answer: { ...paidOrder, updatedAt: laterAt }
    },
    {
      name: "create",
      summary: "Create, never replace",
      parameters: { "If-None-Match": "*" },
      body: thirdOrder,
      status: 200,
      headers: etag(laterAt),
      answer: { ...thirdOrder, updatedAt: laterAt }
    },
    {
      name: "wrongVersion",
      summary: "Replace a version that is no longer",
      given: overtaken,
      parameters: { "If-Match": `"${secondOrderAt}"` },
      body: secondOrder,
      status: 412,
      answer: wrongVersion
    },
    {
      name: "typo",
      summary: "A field that is not known",
      body: { hashKey: "bob", dat: {} },
      status: 400,
      answer: errorBody("invalid_request", {
        message: "dat is not a field of this request.",
        field: "dat",
        hint: "Known fields: hashKey, rangeKey, data, ttl."
      })
    },
    {
      name: "noKey",
      summary: "No hash key",
      body: { data: {} },
      status: 400,
      answer: errorBody("invalid_key", {
        message: "hashKey is missing; it takes a string.",
        field: "hashKey",
        hint: "Give hashKey as a string of 1 to 1024 bytes."
      })
    },
    {
      name: "arrayInIndex",
      summary: "An indexed field that holds an array",
      body: { hashKey: "bob", data: { status: ["open", "paid"] } },
      status: 400,
      answer: errorBody("invalid_index_value", {
        message: "data.status is an array; index i1 takes a string, number or boolean.",
        field: "data.status",
        hint: "Store it under another field, or leave data.status out: the index is sparse."
      })
    },
    {
      name: "millisecondsAsTtl",
      summary: "A ttl in milliseconds",
      body: { hashKey: "bob", data: {}, ttl: 4102444800000 },
      status: 400,
      answer: errorBody("invalid_ttl", {
        message: "ttl is 4102444800000; it takes epoch seconds, an integer from 0 to 253402300799.",
        field: "ttl",
        hint: "It looks like milliseconds; give seconds: 4102444800."
      })
    }
  ];
  verbs = ["query", "batch", "restore"];
  getRecord3 = [
    {
      name: "get",
      summary: "A record without a range key",
      parameters: { hashKey: "draft" },
      status: 200,
      headers: etag(draftAt),
      answer: { ...draft, updatedAt: draftAt }
    },
    {
      name: "unchanged",
      summary: "A copy that is still good",
      parameters: { hashKey: "draft", "If-None-Match": `"${draftAt}"` },
      status: 304,
      headers: etag(draftAt)
    },
    {
      name: "absent",
      summary: "No such record",
      parameters: { hashKey: "ada" },
      status: 404,
      answer: errorBody("record_not_found", {
        message: "There is no record of that key.",
        hint: "If it has a range key, add it to the path."
      })
    },
    {
      name: "get",
      summary: "A record with a range key",
      parameters: { hashKey: "ada", rangeKey: "o-1" },
      status: 200,
      headers: etag(firstOrderAt),
      answer: { ...firstOrder, updatedAt: firstOrderAt }
    },
    {
      name: "unchanged",
      summary: "A copy that is still good",
      parameters: { hashKey: "ada", rangeKey: "o-1", "If-None-Match": `"${firstOrderAt}"` },
      status: 304,
      headers: etag(firstOrderAt)
    },
    {
      name: "absent",
      summary: "No such record",
      parameters: { hashKey: "ada", rangeKey: "o-9" },
      status: 404,
      answer: errorBody("record_not_found", { message: "There is no record of that key." })
    },
    ...verbs.flatMap((hashKey) => [
      {
        name: "get",
        summary: `The record whose hash key is "${hashKey}"`,
        given: givenNamed(hashKey),
        parameters: { hashKey },
        status: 200,
        headers: etag(laterAt),
        answer: { ...named2(hashKey), updatedAt: laterAt }
      },
      {
        name: "unchanged",
        summary: "A copy that is still good",
        given: givenNamed(hashKey),
        parameters: { hashKey, "If-None-Match": `"${laterAt}"` },
        status: 304,
        headers: etag(laterAt)
      },
      {
        name: "absent",
        summary: "No such record",
        parameters: { hashKey },
        status: 404,
        answer: errorBody("record_not_found", {
          message: "There is no record of that key.",
          hint: "If it has a range key, add it to the path."
        })
      }
    ])
  ];
  headRecord = [
    {
      name: "exists",
      summary: "Is it there, and at which version?",
      parameters: { hashKey: "draft" },
      status: 200,
      headers: etag(draftAt)
    },
    {
      name: "exists",
      summary: "Is it there, and at which version?",
      parameters: { hashKey: "ada", rangeKey: "o-1" },
      status: 200,
      headers: etag(firstOrderAt)
    }
  ];
  absentForCondition = errorBody("precondition_failed", {
    message: "The record does not exist; nothing was changed.",
    hint: "Write without the condition, or with one that holds for an absent record, to create it."
  });
  deleteRecord2 = [
    {
      name: "delete",
      summary: "Delete a record without a range key",
      parameters: { hashKey: "draft" },
      status: 200,
      answer: { deleted: true }
    },
    {
      name: "absent",
      summary: "There was none",
      parameters: { hashKey: "ada" },
      status: 200,
      answer: { deleted: false }
    },
    {
      name: "mustExist",
      summary: "Only if it exists",
      parameters: { hashKey: "ada", "If-Match": "*" },
      status: 412,
      answer: absentForCondition
    },
    {
      name: "delete",
      summary: "Delete the version that was read",
      parameters: { hashKey: "ada", rangeKey: "o-1", "If-Match": `"${firstOrderAt}"` },
      status: 200,
      answer: { deleted: true }
    },
    {
      name: "wrongVersion",
      summary: "Delete a version that is no longer",
      given: overtaken,
      parameters: { hashKey: "ada", rangeKey: "o-2", "If-Match": `"${secondOrderAt}"` },
      status: 412,
      answer: wrongVersion
    },
    ...verbs.flatMap((hashKey) => [
      {
        name: "delete",
        summary: `Delete the record whose hash key is "${hashKey}"`,
        given: givenNamed(hashKey),
        parameters: { hashKey },
        status: 200,
        answer: { deleted: true }
      },
      {
        name: "mustExist",
        summary: "Only if it exists",
        parameters: { hashKey, "If-Match": "*" },
        status: 412,
        answer: absentForCondition
      }
    ])
  ];
});

// src/http/openapi/examples/service.ts
var checkHealth, checkReadiness, getDescription, getDocsPage, preflight;
var init_service = __esm(() => {
  checkHealth = [{ name: "alive", summary: "Alive", status: 200, answer: { status: "ok" } }];
  checkReadiness = [
    { name: "ready", summary: "It can serve", status: 200, answer: { status: "ready" } }
  ];
  getDescription = [
    {
      name: "description",
      summary: "This document, cut short",
      status: 200,
      answer: { openapi: "3.1.0", info: { title: "Cubby" } }
    }
  ];
  getDocsPage = [
    {
      name: "page",
      summary: "The page, cut short",
      status: 200,
      answer: `<!doctype html>
<html lang="en">`,
      contentType: "text/html"
    }
  ];
  preflight = [
    {
      name: "put",
      summary: "May a page send PUT?",
      parameters: { "Access-Control-Request-Method": "PUT" },
      status: 204,
      headers: { "Access-Control-Allow-Methods": "GET, HEAD, POST, PUT, DELETE, OPTIONS" }
    }
  ];
});

// src/http/openapi/examples/tables.ts
var listDatabases3, listTables4, createTable2, describeTable, deleteTable2, restoreTable2;
var init_tables2 = __esm(() => {
  init_errors2();
  init_example();
  listDatabases3 = [
    { name: "all", summary: "All databases", status: 200, answer: { databases: ["app"], cursor: null } },
    {
      name: "onePage",
      summary: "The first of several pages",
      given: [{ method: "POST", path: "/v1/blog/posts" }],
      parameters: { limit: 1 },
      status: 200,
      answer: { databases: ["app"], cursor: "WzEsImRhdGFiYXNlcyIsImFwcCJd" }
    }
  ];
  listTables4 = [
    { name: "all", summary: "All tables", status: 200, answer: { tables: [orders], cursor: null } },
    {
      name: "deletedOnes",
      summary: "The tables that can be restored",
      given: [deleteOrders],
      parameters: { deleted: true },
      status: 200,
      answer: { tables: [deletedOrders], cursor: null }
    }
  ];
  createTable2 = [
    {
      name: "plain",
      summary: "A table without indices",
      parameters: { table: "customers" },
      status: 201,
      answer: { db: "app", table: "customers", indices: {}, status: "active", createdAt: laterAt }
    },
    {
      name: "withIndices",
      summary: "A table with two indices",
      parameters: { table: "invoices" },
      body: { indices: { i1: { hashField: "status", rangeField: "dueAt" }, i2: { hashField: "customer" } } },
      status: 201,
      answer: {
        db: "app",
        table: "invoices",
        indices: { i1: { hashField: "status", rangeField: "dueAt" }, i2: { hashField: "customer" } },
        status: "active",
        createdAt: laterAt
      }
    },
    { name: "again", summary: "A table that is there already", body: { indices }, status: 200, answer: orders },
    {
      name: "otherIndices",
      summary: "A table that is there with other indices",
      body: { indices: { i1: { hashField: "customer" } } },
      status: 409,
      answer: errorBody("table_exists", {
        message: "The table orders exists with other indices, and indices are immutable.",
        field: "indices",
        hint: `It declares ${JSON.stringify(indices)}. Use those, or create a table of another name.`
      })
    },
    {
      name: "noSuchSlot",
      summary: "A slot that there is not",
      parameters: { table: "customers" },
      body: { indices: { email: { hashField: "email" } } },
      status: 400,
      answer: errorBody("invalid_index", {
        message: "indices.email is not a slot.",
        field: "indices.email",
        hint: "Slots are i1, i2, i3, i4 and i5."
      })
    }
  ];
  describeTable = [
    { name: "describe", summary: "A table", status: 200, answer: orders },
    {
      name: "deleted",
      summary: "A table that was deleted",
      given: [deleteOrders],
      status: 404,
      answer: errorBody("table_not_found", {
        message: "The table orders in database app was deleted.",
        hint: "Restore it until 2026-01-09T00:00:00.000Z: POST /v1/app/orders/restore; or create it anew, empty: POST /v1/app/orders"
      })
    }
  ];
  deleteTable2 = [
    { name: "delete", summary: "Delete a table", status: 200, answer: deletedOrders }
  ];
  restoreTable2 = [
    { name: "newest", summary: "The one deleted last", given: [deleteOrders], status: 200, answer: orders },
    {
      name: "byTime",
      summary: "The one deleted at that time",
      given: [deleteOrders],
      body: { deletedAt: tableDeletedAt },
      status: 200,
      answer: orders
    },
    {
      name: "nameTaken",
      summary: "A new table has the name",
      given: [deleteOrders, { method: "POST", path: "/v1/app/orders" }],
      status: 409,
      answer: errorBody("table_exists", {
        message: "An active table has the name orders.",
        hint: `Delete it first (DELETE /v1/app/orders), then restore with { "deletedAt": ${tableDeletedAt} }.`
      })
    },
    {
      name: "noSuchDeletion",
      summary: "Nothing was deleted at that time",
      given: [deleteOrders],
      body: { deletedAt: 1 },
      status: 404,
      answer: errorBody("table_not_found", {
        message: "No recoverable table orders was deleted at 1.",
        field: "deletedAt",
        hint: "See GET /v1/app?deleted=true, or leave deletedAt out for the newest."
      })
    }
  ];
});

// src/http/openapi/operations.ts
var tags, bodyOf = (schema, required = true, bytesMax = plainBodyBytesMax) => ({
  schema,
  required,
  description: `JSON in UTF-8, at most ${binaryBytes(bytesMax)}.`
}), pages = 'Pages end with `"cursor": null`; send another `cursor` back for the next one.', pathOfVerb = "`query`, `batch` and `restore` are verbs only for POST; here the word is a hash key like any other.", operations, describedAs = (id) => operations[id];
var init_operations = __esm(() => {
  init_limits();
  init_api_keys2();
  init_queries();
  init_records();
  init_service();
  init_tables2();
  init_introduction();
  tags = {
    Tables: "A database is there as soon as it has a table. Indices are declared when a table is created and never change.",
    Records: "A record is a JSON object under a hash key and, if you like, a range key.",
    "Queries and batches": "Many records at once: found in the order of an index, or written all or none.",
    "API keys": "Key management takes a secret key without a `databases` limit.",
    Service: "Needs no key."
  };
  operations = {
    listDatabases: {
      tag: "Tables",
      summary: "List databases",
      description: `The databases that have a table and that the key may see, by name. ${pages}`,
      parameters: ["limit", "cursor"],
      answers: { 200: { description: "A page of names.", schema: "ListDatabasesResponse" } },
      codes: ["invalid_cursor"],
      examples: listDatabases3
    },
    listTables: {
      tag: "Tables",
      summary: "List tables",
      description: `The tables of a database, by name. A database without tables answers an empty list. ${pages}`,
      parameters: ["limit", "cursor", "deleted"],
      answers: { 200: { description: "A page of tables.", schema: "ListTablesResponse" } },
      codes: ["invalid_cursor"],
      examples: listTables4
    },
    createTable: {
      tag: "Tables",
      summary: "Create a table",
      description: "The body is empty or declares up to five indices, in the slots `i1` to `i5`. Indices are sparse: a record without the fields is stored and is not in the index. The index `t`, by `updatedAt`, is on every table and is not declared.",
      body: bodyOf("CreateTableRequest", false),
      answers: {
        200: { description: "It was there already, with the same indices.", schema: "ActiveTable" },
        201: { description: "Created.", schema: "ActiveTable" }
      },
      codes: ["invalid_index", "table_exists"],
      examples: createTable2
    },
    describeTable: {
      tag: "Tables",
      summary: "Describe a table",
      description: "Its indices and when it was made.",
      answers: { 200: { description: "The table.", schema: "ActiveTable" } },
      codes: ["table_not_found"],
      examples: describeTable
    },
    deleteTable: {
      tag: "Tables",
      summary: "Delete a table, recoverably",
      description: "From the moment of the answer the table is gone for everything but restore, and its name is free. For 7 days it can be restored with all its records; then they are removed for good. Takes no body.",
      answers: { 200: { description: "The table as it was deleted.", schema: "DeletedTable" } },
      codes: ["table_not_found"],
      examples: deleteTable2
    },
    restoreTable: {
      tag: "Tables",
      summary: "Restore a deleted table",
      description: "Makes a deleted table active again, with all its records and indices. The body is empty, for the one deleted last, or names another by its `deletedAt`. Active already, and none of that name deleted: 200, unchanged.",
      body: bodyOf("RestoreTableRequest", false),
      answers: { 200: { description: "The table, active.", schema: "ActiveTable" } },
      codes: ["table_not_found", "table_exists"],
      examples: restoreTable2
    },
    putRecord: {
      tag: "Records",
      summary: "Put a record",
      description: "Writes a record, new or in place of the old one. When the answer is sent it is on disk and in every index. With `If-Match` or `If-None-Match` it is written only if the condition holds; of any number of writers that name the same version, at most one wins.",
      parameters: ["If-Match", "If-None-Match: *", "Prefer"],
      body: bodyOf("PutRecordRequest", true, bodyBytesMax),
      answers: {
        200: {
          description: "The record; with `Prefer: return=minimal` without `data`.",
          schema: ["Record", "MinimalRecord"],
          headers: ["ETag"]
        }
      },
      codes: [
        "invalid_key",
        "invalid_index_value",
        "invalid_ttl",
        "table_not_found",
        "precondition_failed",
        "record_too_large"
      ],
      examples: putRecord2
    },
    getRecord: {
      tag: "Records",
      summary: "Get a record without a range key",
      summaryWithRangeKey: "Get a record with a range key",
      summaryNamed: (word) => `Get the record whose hash key is "${word}"`,
      description: "A record past its `ttl` does not exist. `If-Match` is refused here.",
      parameters: ["If-None-Match"],
      answers: {
        200: { description: "The record.", schema: "Record", headers: ["ETag"] },
        304: { description: "It is still at that version.", headers: ["ETag"] }
      },
      codes: ["table_not_found", "record_not_found"],
      examples: getRecord3
    },
    headRecord: {
      tag: "Records",
      summary: "Look for a record without a range key",
      summaryWithRangeKey: "Look for a record with a range key",
      description: "As GET, without a body: is it there, and at which version.",
      parameters: ["If-None-Match"],
      answers: {
        200: { description: "It is there.", headers: ["ETag"] },
        304: { description: "It is still at that version.", headers: ["ETag"] }
      },
      codes: ["table_not_found", "record_not_found"],
      examples: headRecord
    },
    deleteRecord: {
      tag: "Records",
      summary: "Delete a record without a range key",
      summaryWithRangeKey: "Delete a record with a range key",
      summaryNamed: (word) => `Delete the record whose hash key is "${word}"`,
      description: "Deleting what is not there is no error. Takes no body; `If-None-Match` is refused here.",
      parameters: ["If-Match"],
      answers: { 200: { description: "Whether there was one.", schema: "DeleteRecordResponse" } },
      codes: ["table_not_found", "precondition_failed"],
      examples: deleteRecord2
    },
    queryRecords: {
      tag: "Queries and batches",
      summary: "Query records",
      description: `Three forms:

- by primary key: \`hash\`, in the order of range keys;
- by recency: \`index: "t"\` and no \`hash\`, by \`updatedAt\`, newest first unless \`ascending\` is true;
- by declared index: \`index: "i1"\` to \`"i5"\` and \`hash\`, in the order of the index's range field.

Values in an index come in this order: false, true, numbers, strings by their UTF-8 bytes. A write is in every index when its answer is sent. ${pages} The cursor belongs to its table, hash, index, range and direction; \`limit\` may change.`,
      body: bodyOf("QueryRequest"),
      answers: { 200: { description: "A page.", schema: "QueryResponse" } },
      codes: [
        "invalid_key",
        "invalid_index_value",
        "index_not_declared",
        "invalid_range",
        "invalid_cursor",
        "table_not_found"
      ],
      examples: queryRecords2
    },
    applyBatch: {
      tag: "Queries and batches",
      summary: "Put and delete several records at once",
      description: "All operations are applied or none, and no reader ever sees a part of them. In an error `field` names the operation: `operations[3].data.status`.",
      body: bodyOf("BatchRequest", true, batchBodyBytesMax),
      answers: { 200: { description: "All were applied.", schema: "BatchResponse" } },
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
      examples: applyBatch2
    },
    createApiKey: {
      tag: "API keys",
      summary: "Create an API key",
      description: "The answer is the only place where the key is ever shown.",
      body: bodyOf("CreateKeyRequest"),
      answers: { 201: { description: "The new key.", schema: "CreateKeyResponse" } },
      codes: ["invalid_name", "reserved_name"],
      examples: createApiKey2
    },
    listApiKeys: {
      tag: "API keys",
      summary: "List API keys",
      description: `Of the organization, newest first, masked. ${pages}`,
      parameters: ["limit", "cursor"],
      answers: { 200: { description: "A page of keys.", schema: "ListKeysResponse" } },
      codes: ["invalid_cursor"],
      examples: listApiKeys2
    },
    revokeApiKey: {
      tag: "API keys",
      summary: "Revoke an API key",
      description: "For good: from the moment of the answer every request with the key gets 403 `revoked_api_key`. Again: 200, unchanged. Takes no body.",
      answers: { 200: { description: "The key, revoked.", schema: "Key" } },
      codes: ["key_not_found"],
      examples: revokeApiKey2
    },
    checkHealth: {
      tag: "Service",
      summary: "Is the process alive?",
      description: "For the one who restarts it.",
      answers: { 200: { description: "It is.", schema: "Health" } },
      codes: [],
      examples: checkHealth
    },
    checkReadiness: {
      tag: "Service",
      summary: "Can it serve?",
      description: "For the one who sends it requests: 503 while the store cannot be used.",
      answers: { 200: { description: "It can.", schema: "Health" } },
      codes: ["unavailable"],
      examples: checkReadiness
    },
    getDescription: {
      tag: "Service",
      summary: "This description",
      description: "OpenAPI 3.1, made from the table of routes that serves the requests.",
      answers: { 200: { description: "The document.", schema: "OpenApi" } },
      codes: ["internal"],
      examples: getDescription
    },
    getDocsPage: {
      tag: "Service",
      summary: "This description, to read",
      description: "One page that loads nothing else.",
      answers: {
        200: {
          description: "The page.",
          contentType: "text/html",
          schema: "Page",
          headers: ["Content-Security-Policy"]
        }
      },
      codes: ["internal"],
      examples: getDocsPage
    },
    preflight: {
      tag: "Service",
      summary: "What may a page of another origin send?",
      description: "Sent by browsers before a request. It is shown for this path; every other path, known or not, answers the same.",
      parameters: ["Access-Control-Request-Method"],
      answers: {
        204: {
          description: "All that the service takes.",
          headers: ["Access-Control-Allow-Methods", "Access-Control-Allow-Headers", "Access-Control-Max-Age"]
        }
      },
      codes: [],
      examples: preflight
    }
  };
});

// src/http/openapi/schemas.ts
var objectOf = (description, required, properties) => ({
  type: "object",
  description,
  properties,
  ...required.length === 0 ? {} : { required }
}), closed = (schema) => ({ ...schema, additionalProperties: false }), refTo = (name) => ({ $ref: `#/components/schemas/${name}` }), ref = (name) => ({ $ref: `#/components/schemas/${name}` }), nullable = (type, more) => ({ ...more, type: [type, "null"] }), milliseconds = (description) => ({
  type: "integer",
  format: "int64",
  description: `${description} Epoch milliseconds.`
}), number2 = (value) => value.toLocaleString("en-US"), name, recordKeyPart, hashKey, rangeKey, data, ttl, updatedAt, ifUpdatedAt, cursor2, limit, page2, ascending = (absent) => ({
  type: "boolean",
  default: absent,
  description: absent ? "False: from the highest down." : "True: oldest first."
}), indices2, indexField = (description) => ({
  type: "string",
  minLength: 1,
  maxLength: indexFieldCharactersMax,
  description
}), range = (description, operand, operators) => ({
  type: "object",
  description: `${description} Exactly one operator; \`between\` takes \`[low, high]\`, both inclusive and of one type.`,
  minProperties: 1,
  maxProperties: 1,
  properties: Object.fromEntries(operators.map((operator) => [operator, operandOf(operator, operand)])),
  additionalProperties: false
}), operandOf = (operator, operand) => {
  if (operator === "between")
    return { type: "array", items: operand, minItems: 2, maxItems: 2 };
  return operator === "beginsWith" ? { type: "string", maxLength: indexStringBytesMax } : operand;
}, keyFields, tableFields, schemas;
var init_schemas = __esm(() => {
  init_errors();
  init_indices();
  init_limits();
  init_range();
  init_errors2();
  name = {
    type: "string",
    pattern: "^[a-z0-9-][a-z0-9_-]{0,63}$",
    minLength: 1,
    maxLength: 64,
    description: "Matches `[a-z0-9_-]{1,64}`; names that start with `_` are reserved."
  };
  recordKeyPart = {
    type: "string",
    minLength: 1,
    maxLength: keyBytesMax,
    not: { enum: [".", ".."] },
    description: `1 to ${number2(keyBytesMax)} bytes of UTF-8, any character, no lone surrogates. Only \`.\` and \`..\` are refused, since URL parsers drop such segments.`
  };
  hashKey = ref("RecordKeyPart");
  rangeKey = {
    ...ref("RecordKeyPart"),
    description: 'Absent for a record without one, whose slot is `#`: `"rangeKey": "#"` and none are the same record.'
  };
  data = {
    type: "object",
    description: `Free-form; at most ${number2(dataBytesMax)} bytes of JSON as it was sent and ${dataDepthMax} levels deep. It comes back exactly as it was sent: member order, number text and white space too.`
  };
  ttl = {
    type: "integer",
    format: "int64",
    minimum: 0,
    maximum: ttlSecondsMax,
    description: "Epoch seconds, not a duration. The record is gone from the instant this second begins. More than a day in the past is refused. A put without `ttl` removes an earlier one."
  };
  updatedAt = milliseconds("The record's version: it strictly increases with every write while the record exists, and is its `ETag`.");
  ifUpdatedAt = nullable("integer", {
    format: "int64",
    description: "The `updatedAt` that the record must have; null: it must not exist. Otherwise the whole batch is refused."
  });
  cursor2 = nullable("string", { description: "Opaque. Null on the last page; for the next one send it back." });
  limit = {
    type: "integer",
    minimum: 1,
    default: pageRowsDefault,
    description: `How many items a page has at the most. More than ${number2(pageRowsMax)} is taken as ${number2(pageRowsMax)}.`
  };
  page2 = {
    limit,
    cursor: nullable("string", {
      maxLength: cursorCharactersMax,
      description: "The `cursor` of the answer before, with the same hash, index, range and direction; null is as absent."
    })
  };
  indices2 = {
    type: "object",
    description: "The declared indices by slot; `{}` when there are none. They are immutable.",
    properties: Object.fromEntries(slots.map((slot) => [slot, ref("IndexDeclaration")])),
    additionalProperties: false
  };
  keyFields = {
    id: { type: "string", description: "Names the key in `DELETE /api/keys/{id}`." },
    kind: { type: "string", enum: ["secret", "public"] },
    name: nullable("string", {}),
    masked: { type: "string", description: "The prefix and the last four characters, as `svc_live_****wxyz`." },
    databases: nullable("array", { items: ref("Name"), description: "The databases it is limited to; null: all." }),
    createdAt: milliseconds("When the key was made."),
    expiresAt: nullable("integer", { format: "int64", description: "Epoch milliseconds, or null." })
  };
  tableFields = {
    db: ref("Name"),
    table: ref("Name"),
    indices: ref("Indices"),
    createdAt: milliseconds("When the table was made.")
  };
  schemas = {
    Name: name,
    RecordKeyPart: recordKeyPart,
    IndexDeclaration: closed(objectOf("An index over top-level fields of `data`.", ["hashField"], {
      hashField: indexField("The field whose value a query gives as `hash`."),
      rangeField: indexField("The field by which the records of one hash are ordered.")
    })),
    Indices: indices2,
    CreateTableRequest: closed(objectOf("What a table is created with.", [], { indices: ref("Indices") })),
    RestoreTableRequest: closed(objectOf("Which table to restore, where several of one name were deleted.", [], {
      deletedAt: milliseconds("The `deletedAt` of the table; absent: the one deleted last.")
    })),
    ActiveTable: objectOf("A table.", ["db", "table", "indices", "status", "createdAt"], {
      ...tableFields,
      status: { type: "string", const: "active" }
    }),
    DeletedTable: objectOf("A soft-deleted table.", ["db", "table", "indices", "status", "createdAt", "deletedAt", "recoverableUntil"], {
      ...tableFields,
      status: { type: "string", const: "deleted" },
      deletedAt: milliseconds("When it was deleted."),
      recoverableUntil: milliseconds(`Until when it can be restored: ${recoveryMs / 86400000} days later.`)
    }),
    ListTablesResponse: objectOf("Tables by name.", ["tables", "cursor"], {
      tables: { type: "array", items: { oneOf: [ref("ActiveTable"), ref("DeletedTable")] } },
      cursor: cursor2
    }),
    ListDatabasesResponse: objectOf("Databases by name.", ["databases", "cursor"], {
      databases: { type: "array", items: ref("Name") },
      cursor: cursor2
    }),
    PutRecordRequest: closed(objectOf("A record to write.", ["hashKey", "data"], { hashKey, rangeKey, data, ttl })),
    Record: objectOf("A record.", ["hashKey", "data", "updatedAt"], {
      hashKey,
      rangeKey,
      data,
      ttl,
      updatedAt
    }),
    MinimalRecord: objectOf("A record without its data: the answer to `Prefer: return=minimal`.", ["hashKey", "updatedAt"], { hashKey, rangeKey, ttl, updatedAt }),
    DeleteRecordResponse: objectOf("What a delete did.", ["deleted"], {
      deleted: { type: "boolean", description: "False if there was no such record." }
    }),
    IndexValue: {
      type: ["string", "number", "boolean"],
      maxLength: indexStringBytesMax,
      description: `A string of at most ${number2(indexStringBytesMax)} bytes, a number or a boolean. A strict ISO-8601 date-time (\`2026-01-05T10:00:00Z\`) counts as its epoch milliseconds.`
    },
    PrimaryRange: range("By range key: operands are strings.", ref("RangeKeyOperand"), rangeOperators),
    RangeKeyOperand: { type: "string", maxLength: keyBytesMax },
    RecencyRange: range("By `updatedAt`: operands are epoch milliseconds or ISO-8601 date-times.", ref("Instant"), rangeOperators.filter((operator) => operator !== "beginsWith")),
    Instant: { type: ["number", "string"], description: "Epoch milliseconds, or an ISO-8601 date-time." },
    IndexRange: range("By the value of `rangeField`; it matches only values of its operand\u2019s own type.", ref("IndexValue"), rangeOperators),
    PrimaryQuery: closed(objectOf("The records of one hash key, by range key.", ["hash"], {
      hash: { ...ref("RecordKeyPart"), description: "The hash key." },
      range: ref("PrimaryRange"),
      ...page2,
      ascending: ascending(true)
    })),
    RecencyQuery: closed(objectOf("All records by `updatedAt`, newest first unless `ascending` is true.", ["index"], {
      index: { type: "string", const: "t" },
      range: ref("RecencyRange"),
      ...page2,
      ascending: ascending(false)
    })),
    IndexQuery: closed(objectOf("The records with one value of an index\u2019s hash field, by its range field.", ["index", "hash"], {
      index: { type: "string", enum: slots },
      hash: { ...ref("IndexValue"), description: "The value of the hash field." },
      range: ref("IndexRange"),
      ...page2,
      ascending: ascending(true)
    })),
    QueryRequest: {
      description: "One of three forms: by primary key, by recency, by declared index.",
      oneOf: [ref("PrimaryQuery"), ref("RecencyQuery"), ref("IndexQuery")]
    },
    QueryResponse: objectOf(`A page. It also ends before the record with which the text of \`items\` would pass ${number2(pageBytesMax)} bytes, keys and escapes included. It may be short, even empty, and still carry a cursor: only null means the end.`, ["items", "count", "cursor"], {
      items: { type: "array", items: ref("Record"), maxItems: pageRowsMax },
      count: { type: "integer", minimum: 0, maximum: pageRowsMax, description: "How many items this page has." },
      cursor: cursor2
    }),
    PutOperation: closed(objectOf("Writes a record.", ["op", "hashKey", "data"], {
      op: { type: "string", const: "put" },
      hashKey,
      rangeKey,
      data,
      ttl,
      ifUpdatedAt
    })),
    DeleteOperation: closed(objectOf("Removes a record; one that is absent counts as removed.", ["op", "hashKey"], {
      op: { type: "string", const: "delete" },
      hashKey,
      rangeKey,
      ifUpdatedAt
    })),
    BatchRequest: closed(objectOf("Operations that are applied all or none.", ["operations"], {
      operations: {
        type: "array",
        minItems: 1,
        maxItems: batchOperationsMax,
        items: { oneOf: [ref("PutOperation"), ref("DeleteOperation")] },
        description: "Each names another record."
      }
    })),
    BatchResponse: objectOf("What a batch did.", ["count"], {
      count: {
        type: "integer",
        minimum: 1,
        maximum: batchOperationsMax,
        description: "How many operations were applied: all."
      }
    }),
    CreateKeyRequest: closed(objectOf("What a key is to be.", ["kind"], {
      kind: { type: "string", enum: ["secret", "public"], description: "A public key reads; a secret key does all." },
      name: nullable("string", { minLength: 1, maxLength: keyNameCharactersMax, description: "For people." }),
      expiresAt: nullable("integer", { format: "int64", description: "Epoch milliseconds, in the future." }),
      databases: nullable("array", {
        items: ref("Name"),
        minItems: 1,
        maxItems: keyDatabasesMax,
        description: "The databases it is limited to; absent or null: all of the organization."
      })
    })),
    CreateKeyResponse: objectOf("A new key. `key` is shown this once.", ["id", "kind", "name", "key", "masked", "databases", "createdAt", "expiresAt"], {
      ...keyFields,
      key: { type: "string", pattern: "^svc_(live|pub)_[0-9A-Za-z]{38}$", description: "The key itself. Keep it now." }
    }),
    Key: objectOf("A key as it is listed.", ["id", "kind", "name", "masked", "databases", "status", "createdAt", "lastUsedAt", "expiresAt", "revokedAt"], {
      ...keyFields,
      status: { type: "string", enum: ["active", "expired", "revoked"] },
      lastUsedAt: nullable("integer", { format: "int64", description: "Epoch milliseconds; may lag by a minute." }),
      revokedAt: nullable("integer", { format: "int64", description: "Epoch milliseconds, or null." })
    }),
    ListKeysResponse: objectOf("Keys, newest first.", ["keys", "cursor"], {
      keys: { type: "array", items: ref("Key") },
      cursor: cursor2
    }),
    Health: {
      type: "object",
      description: "All is well.",
      properties: { status: { type: "string", enum: ["ok", "ready"] } },
      required: ["status"]
    },
    OpenApi: {
      type: "object",
      description: "An OpenAPI document.",
      properties: { openapi: { type: "string", pattern: "^3\\.1\\." }, info: { type: "object" } },
      required: ["openapi", "info"]
    },
    Page: { type: "string", description: "HTML." },
    Error: objectOf("The body of every answer that is not a success.", ["error"], {
      error: objectOf("What went wrong.", ["code", "message", "requestId"], {
        code: {
          type: "string",
          enum: errorCodes,
          "x-enumDescriptions": meanings,
          description: "What a program decides by. Codes may be added; none is removed or changes its meaning."
        },
        message: { type: "string", description: "For people: what was found and what was expected." },
        field: {
          type: "string",
          description: "The one field at fault, as a path: `data.status`, `operations[3].hashKey`."
        },
        hint: { type: "string", description: "The next step to take, where there is one to suggest." },
        requestId: { type: "string", maxLength: requestIdCharactersMax, description: "As in `X-Request-Id`." }
      })
    })
  };
});

// src/http/openapi/parameters.ts
var inPath = (name, description, example, schema) => ({
  name,
  in: "path",
  required: true,
  description,
  schema,
  example
}), encoded = "Percent-encoded once, as `encodeURIComponent` does.", requestId, parameters2, parameterComponent = (name) => name === "If-None-Match: *" ? "If-None-Match-Any" : name, parameterRef = (name) => ({
  $ref: `#/components/parameters/${parameterComponent(name)}`
}), fixed = (description, value) => ({
  description,
  required: true,
  schema: { type: "string", const: value }
}), headers, headerRef = (name) => ({ $ref: `#/components/headers/${name}` });
var init_parameters = __esm(() => {
  init_limits();
  init_status();
  init_schemas();
  requestId = {
    type: "string",
    minLength: 1,
    maxLength: requestIdCharactersMax,
    pattern: "^[\\x21-\\x7e]+$"
  };
  parameters2 = {
    db: inPath("db", "The database, one for each application. It is there as soon as it has a table.", "app", refTo("Name")),
    table: inPath("table", "The table, one for each kind of thing.", "orders", refTo("Name")),
    hashKey: inPath("hashKey", `The record's hash key. ${encoded}`, "ada", refTo("RecordKeyPart")),
    rangeKey: inPath("rangeKey", `The record's range key. ${encoded}`, "o-1", refTo("RecordKeyPart")),
    id: inPath("id", "The id of the key, as it is listed.", "key_4fJ2mQ9sT7bXc1LwZr8a", {
      type: "string",
      minLength: 1
    }),
    limit: {
      name: "limit",
      in: "query",
      description: `How many entries a page has at the most. More than ${pageRowsMax.toLocaleString("en-US")} is taken as ${pageRowsMax.toLocaleString("en-US")}.`,
      schema: { type: "integer", minimum: 1, default: pageRowsDefault }
    },
    cursor: {
      name: "cursor",
      in: "query",
      description: "The `cursor` of the answer before.",
      schema: { type: "string", pattern: "^[A-Za-z0-9_-]+$", maxLength: cursorCharactersMax }
    },
    deleted: {
      name: "deleted",
      in: "query",
      description: "True: the soft-deleted tables that can still be restored, by name, then `deletedAt`.",
      schema: { type: "boolean", default: false }
    },
    "X-Request-Id": {
      name: "X-Request-Id",
      in: "header",
      description: "Your own name for this request. It comes back in the answer and stands in the log.",
      schema: requestId
    },
    "If-Match": {
      name: "If-Match",
      in: "header",
      description: "Write only if the record is at this version, the `ETag` of an answer, quotes included; `*`: only if it exists. One strong tag, no list.",
      schema: { type: "string", pattern: '^(\\*|"[^"]*")$' }
    },
    "If-None-Match": {
      name: "If-None-Match",
      in: "header",
      description: "Answer 304 if the record is still at this version. Lists, weak tags and `*` are read as HTTP says.",
      schema: { type: "string" }
    },
    "If-None-Match: *": {
      name: "If-None-Match",
      in: "header",
      description: "`*`: write only if the record does not exist. Not beside `If-Match`.",
      schema: { type: "string", const: "*" }
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
      description: "Sent by the browser: the method it would like to use.",
      schema: { type: "string" }
    }
  };
  headers = {
    "X-Request-Id": {
      description: "The caller\u2019s own, if it was well-formed; otherwise a new one.",
      required: true,
      schema: requestId
    },
    "Cache-Control": fixed("May be kept, and must be revalidated.", "private, no-cache"),
    "Access-Control-Allow-Origin": fixed("Pages of every origin may read the answer.", "*"),
    "Access-Control-Expose-Headers": fixed("What such pages may read of the headers.", "ETag, Retry-After, X-Request-Id"),
    ETag: {
      description: "The record\u2019s version, for `If-Match` and `If-None-Match`: its `updatedAt` in quotes.",
      required: true,
      schema: { type: "string", pattern: '^"[0-9]+"$' }
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
      schema: { type: "integer", minimum: 0 },
      example: retryAfterSeconds
    },
    "Access-Control-Allow-Methods": {
      description: "The methods that some path takes.",
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
      description: "Seconds for which the browser may keep this answer: a day.",
      required: true,
      schema: { type: "integer", minimum: 0 },
      example: 86400
    },
    "Content-Security-Policy": {
      description: "The page loads nothing: its own style and script are allowed by their hashes.",
      required: true,
      schema: { type: "string" }
    }
  };
});

// src/http/openapi/place.ts
var placeOf3 = (id, method, path, need) => {
  const operation = describedAs(id);
  return { id, operation, method, path, need, word: operation.summaryNamed && literalHashKey(path) };
}, pathParameters = (path) => Array.from(path.matchAll(/:(\w+)/g), ([, name]) => name), examplesAt = ({ operation, path, word }) => {
  const takesRangeKey = pathParameters(path).includes("rangeKey");
  return operation.examples.filter(({ parameters: given = {} }) => {
    if (given.rangeKey !== undefined !== takesRangeKey)
      return false;
    return word === undefined ? !verbs2.has(given.hashKey) : given.hashKey === word;
  });
}, verbs2;
var init_place = __esm(() => {
  init_routes();
  init_operations();
  verbs2 = new Set(Object.keys(routes).flatMap((path) => literalHashKey(path) ?? []));
});

// src/http/openapi/curl.ts
var quote4 = (text) => /^[A-Za-z0-9_./:=@%+,-]+$/.test(text) ? text : `'${text.replaceAll("'", "'\\''")}'`, curlLine = ({ method, target, headers, body, withKey }) => {
  const words = [`curl ${methodFlag(method)}"$CUBBY_URL${target}"`];
  if (withKey)
    words.push('-H "Authorization: Bearer $CUBBY_KEY"');
  if (body !== undefined)
    words.push("-H 'Content-Type: application/json'");
  for (const [name, value] of Object.entries(headers))
    words.push(`-H ${quote4(`${name}: ${value}`)}`);
  if (body !== undefined)
    words.push(`-d ${quote4(JSON.stringify(body))}`);
  return words.join(" \\\n  ");
}, methodFlag = (method) => {
  if (method === "GET")
    return "";
  return method === "HEAD" ? "-I " : `-X ${method} `;
};

// src/http/openapi/requests.ts
var known, targetOf2 = (path, given) => {
  const filled = path.replace(/:(\w+)/g, (_, name) => encodeURIComponent(String(given[name] ?? known[name].example)));
  const query = Object.entries(given).filter(([name]) => known[name]?.in === "query");
  if (query.length === 0)
    return filled;
  return `${filled}?${new URLSearchParams(query.map(([name, value]) => [name, String(value)]))}`;
}, codeSample = (place, { name, summary, parameters: given = {}, body }) => {
  const names = (place.operation.parameters ?? []).map((name) => parameters2[name]);
  const sent = names.filter(({ name, in: where }) => where === "header" && given[name] !== undefined);
  const source = curlLine({
    method: place.method,
    target: targetOf2(place.path, given),
    headers: Object.fromEntries(sent.map(({ name }) => [name, String(given[name])])),
    body,
    withKey: place.need !== undefined
  });
  return { lang: "Shell", label: summary, source, example: name };
}, parameterObject = (name, examples) => {
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
}, operationParameters = ({ operation, path }, examples) => {
  const own = pathParameters(path).map((name) => parameterObject(name, examples));
  const others = (operation.parameters ?? []).map((name) => parameterObject(name, examples));
  return [...own.filter((parameter) => !("$ref" in parameter)), ...others];
}, requestBody = ({ operation }, examples) => {
  if (operation.body === undefined)
    return;
  const { schema, required, description } = operation.body;
  const shown = examples.filter(({ body }) => body !== undefined);
  const values = shown.map(({ name, summary, body }) => [name, { summary, value: body }]);
  return {
    description,
    required,
    content: { "application/json": { schema: refTo(schema), examples: Object.fromEntries(values) } }
  };
};
var init_requests = __esm(() => {
  init_parameters();
  init_place();
  init_schemas();
  known = parameters2;
});

// src/http/openapi/responses.ts
var commonHeaders2, headerExample = ({ headers: shown, answer, given }, name) => ({
  value: shown[name],
  ...answer === undefined && given && { "x-given": given }
}), headerObject = (name, examples) => {
  const values = examples.filter(({ headers: shown = {} }) => shown[name] !== undefined);
  if (values.length === 0)
    return headerRef(name);
  const { example, ...rest } = headers[name];
  return { ...rest, examples: Object.fromEntries(values.map((shown) => [shown.name, headerExample(shown, name)])) };
}, headerObjects = (names, examples = []) => Object.fromEntries(names.map((name) => [name, headerObject(name, examples)])), answerExamples = (examples) => Object.fromEntries(examples.map(({ name, summary, answer, given }) => [
  name,
  { summary, value: answer, ...given && { "x-given": given } }
])), schemaOf = (schema) => Array.isArray(schema) ? { anyOf: schema.map((name) => refTo(name)) } : refTo(schema), successResponse = (answer, all, status) => {
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
}, errorHeaders, errorSchema = (codes) => ({
  allOf: [
    refTo("Error"),
    {
      type: "object",
      properties: { error: { type: "object", properties: { code: { type: "string", enum: codes } } } }
    }
  ]
}), codeOf2 = ({ answer }) => answer.error.code, errorResponse = (status, codes, all = []) => {
  const own = all.filter((example) => example.status === status);
  const shared = codes.filter((code) => !own.some((example) => codeOf2(example) === code));
  return {
    description: codes.map((code) => `\`${code}\`: ${meanings[code]}`).join(`

`),
    headers: headerObjects([...commonHeaders2, ...errorHeaders[status] ?? []]),
    content: {
      "application/json": {
        schema: errorSchema(codes),
        examples: {
          ...answerExamples(own),
          ...Object.fromEntries(shared.map((code) => [code, { $ref: `#/components/examples/${code}` }]))
        }
      }
    }
  };
}, sharedResponses, sharedResponseObjects = () => Object.fromEntries(Object.entries(sharedResponses).map(([name, { status, codes }]) => [name, errorResponse(status, codes)])), errorResponseOrReference = (status, codes, examples) => {
  const same = Object.entries(sharedResponses).find(([, shared]) => shared.codes.join() === codes.join());
  return same === undefined ? errorResponse(status, codes, examples) : { $ref: `#/components/responses/${same[0]}` };
}, codesOf = ({ operation, method, path, need }) => {
  const names = pathParameters(path);
  const codes = new Set([...operation.codes, "method_not_allowed"]);
  const add = (more) => {
    for (const code of more)
      codes.add(code);
  };
  if (names.length > 0)
    add(["route_not_found"]);
  if (names.includes("db"))
    add(nameCodes);
  if (names.includes("hashKey") || names.includes("id"))
    add(["invalid_key"]);
  if (operation.body !== undefined)
    add(bodyCodes);
  if (need !== undefined)
    add([...accessCodes(need, names.includes("db")), "invalid_request", "internal", "store_damaged", "unavailable"]);
  if (need !== undefined && need !== "read" && method !== "GET")
    add(writeCodes);
  return errorCodes.filter((code) => codes.has(code));
}, responsesOf = (place, examples) => {
  const responses = {};
  for (const [status, answer] of Object.entries(place.operation.answers)) {
    responses[status] = successResponse(answer, examples, Number(status));
  }
  if (place.method === "OPTIONS")
    return responses;
  for (const [status, codes] of Map.groupBy(codesOf(place), (code) => statusOf[code])) {
    if (place.method === "HEAD") {
      const names = [...commonHeaders2, ...errorHeaders[status] ?? []];
      const description = `Without a body: ${codes.map((code) => `\`${code}\``).join(", ")}.`;
      responses[status] = { description, headers: headerObjects(names) };
    } else
      responses[status] = errorResponseOrReference(status, codes, examples);
  }
  return responses;
};
var init_responses = __esm(() => {
  init_errors();
  init_status();
  init_errors2();
  init_parameters();
  init_place();
  init_schemas();
  commonHeaders2 = [
    "X-Request-Id",
    "Cache-Control",
    "Access-Control-Allow-Origin",
    "Access-Control-Expose-Headers"
  ];
  errorHeaders = {
    401: ["WWW-Authenticate"],
    405: ["Allow"],
    503: ["Retry-After"]
  };
  sharedResponses = {
    Unauthorized: { status: 401, codes: ["missing_api_key", "invalid_api_key", "expired_api_key"] },
    MethodNotAllowed: { status: 405, codes: ["method_not_allowed"] },
    UnsupportedMediaType: { status: 415, codes: ["unsupported_media_type"] },
    InternalError: { status: 500, codes: ["internal"] },
    ReadFailed: { status: 500, codes: ["internal", "store_damaged"] },
    WriteFailed: { status: 500, codes: ["internal", "store_damaged", "outcome_unknown"] },
    Unavailable: { status: 503, codes: ["unavailable"] },
    StorageFull: { status: 507, codes: ["storage_full"] }
  };
});

// src/http/openapi/document.ts
var security, capitalized = (word) => word[0].toUpperCase() + word.slice(1), nameAt = (place) => {
  const { id, operation, path, word } = place;
  const { summary, description } = operation;
  if (word !== undefined) {
    const named = operation.summaryNamed(word);
    return { operationId: `${id}Named${capitalized(word)}`, summary: named, description: pathOfVerb };
  }
  if (!path.endsWith("/:rangeKey"))
    return { operationId: id, summary, description };
  return { operationId: `${id}WithRangeKey`, summary: operation.summaryWithRangeKey ?? summary, description };
}, operationObject = (place) => {
  const { id, operation, need, word } = place;
  const examples = examplesAt(place);
  const own = operationParameters(place, examples);
  const body = requestBody(place, examples);
  return {
    ...nameAt(place),
    tags: [operation.tag],
    security: need === undefined ? [] : security[need],
    ...own.length > 0 && { parameters: own },
    ...body && { requestBody: body },
    responses: responsesOf(place, examples),
    "x-codeSamples": examples.map((example) => codeSample(place, example)),
    ...word !== undefined && { "x-same-as": id }
  };
}, methodOrder, placesOf = (path, methods) => {
  const places = Object.entries(methods).map(([method, { operation, need }]) => placeOf3(operation, method, path, need));
  const get = methods.GET;
  if (get?.operation === "getRecord" && literalHashKey(path) === undefined) {
    places.push(placeOf3("headRecord", "HEAD", path, get.need));
  }
  if (path === "/v1")
    places.push(placeOf3("preflight", "OPTIONS", path));
  return places.sort((a, b) => methodOrder.indexOf(a.method) - methodOrder.indexOf(b.method));
}, templated = (path) => path.replace(/:(\w+)/g, "{$1}"), pathItem = (path, places) => ({
  parameters: [...pathParameters(path), "X-Request-Id"].map(parameterRef),
  ...Object.fromEntries(places.map((place) => [place.method.toLowerCase(), operationObject(place)]))
}), bearer = (prefix, description) => ({
  type: "http",
  scheme: "bearer",
  bearerFormat: `${prefix} and 38 letters and digits`,
  description
}), referredTo = (kind, named, text) => Object.fromEntries(Object.entries(named).filter(([name]) => text.includes(`"#/components/${kind}/${name}"`))), allParameters = () => Object.fromEntries(Object.keys(parameters2).map((name) => [parameterComponent(name), parameters2[name]])), sharedExamples = () => Object.fromEntries(errorCodes.flatMap((code) => {
  const error = sharedErrors[code];
  return error === undefined ? [] : [[code, { summary: meanings[code], value: errorBody(code, error) }]];
})), makeDocument = () => {
  const places = [
    ...Object.entries(routes).map(([path, methods]) => [path, placesOf(path, methods)]),
    ...Object.entries(openRoutes).map(([path, id]) => [path, [placeOf3(id, "GET", path)]])
  ];
  const paths = Object.fromEntries(places.map(([path, there]) => [templated(path), pathItem(path, there)]));
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
    servers: [{ url: "/", description: "The server that this document came from." }],
    tags: Object.entries(tags).map(([name, description]) => ({ name, description })),
    paths,
    components: {
      schemas,
      parameters: referredTo("parameters", allParameters(), text),
      headers: referredTo("headers", headers, text),
      responses,
      examples: sharedExamples(),
      securitySchemes: {
        secretKey: bearer("svc_live_", "Reads and writes. For servers only: refused when a web page of another origin sends it."),
        publicKey: bearer("svc_pub_", "Reads records and tables. Safe in browsers.")
      }
    },
    "x-given": exampleStore
  };
};
var init_document = __esm(() => {
  init_package();
  init_errors();
  init_routes();
  init_errors2();
  init_example();
  init_introduction();
  init_operations();
  init_parameters();
  init_place();
  init_requests();
  init_responses();
  init_schemas();
  security = {
    read: [{ secretKey: [] }, { publicKey: [] }],
    write: [{ secretKey: [] }],
    keys: [{ secretKey: [] }]
  };
  methodOrder = ["GET", "HEAD", "POST", "PUT", "DELETE", "OPTIONS"];
});

// src/http/openapi/types.ts
var httpMethods;
var init_types = __esm(() => {
  httpMethods = ["get", "head", "put", "post", "delete", "options"];
});

// src/http/openapi/page/html.ts
class Html {
  text;
  constructor(text) {
    this.text = text;
  }
}
var escapeHtml = (text) => text.replaceAll("&", "&amp;").replaceAll("<", "&lt;").replaceAll(">", "&gt;").replaceAll('"', "&quot;"), render = (part) => {
  if (part instanceof Html)
    return part.text;
  if (Array.isArray(part))
    return part.map(render).join("");
  return part === undefined ? "" : escapeHtml(String(part));
}, html = (strings, ...parts) => new Html(strings.reduce((text, string, i) => text + render(parts[i - 1]) + string));

// src/http/openapi/page/markdown.ts
var codes, code = (text) => codes.has(text) ? html`<a href="#error-${text}"><code>${text}</code></a>` : html`<code>${text}</code>`, inline = (text) => html`${text.split("`").map((part, i) => i % 2 === 1 ? code(part) : part)}`, anchor = (heading) => heading.toLowerCase().replaceAll(" ", "-"), block = (text) => {
  if (text.startsWith("## "))
    return html`<h3 id="${anchor(text.slice(3))}">${text.slice(3)}</h3>`;
  if (!text.startsWith("- "))
    return html`<p>${inline(text)}</p>`;
  return html`<ul>${text.split(`
`).map((line) => html`<li>${inline(line.slice(2))}</li>`)}</ul>`;
}, markdown = (text) => html`${text.trim().split(`

`).map(block)}`, headingsOf = (text) => Array.from(text.matchAll(/^## (.+)$/gm), ([, title]) => ({ id: anchor(title), title }));
var init_markdown = __esm(() => {
  init_errors();
  codes = new Set(errorCodes);
});

// src/http/openapi/page/schema-view.ts
var schemaName = (schema) => schema.$ref?.split("/").at(-1), link = (name) => html`<a href="#schema-${name}">${name}</a>`, joined = (parts, between) => html`${parts.map((part, i) => i === 0 ? part : [between, part])}`, typeOf = (schema) => {
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
}, number3 = (value) => value.toLocaleString("en-US"), bounds = (low, high, unit) => {
  if (low === undefined && high === undefined)
    return [];
  const suffix = unit === "" ? "" : ` ${unit}`;
  if (low !== undefined && low === high)
    return [`exactly ${number3(low)}${suffix}`];
  if (high === undefined)
    return [`at least ${number3(low)}${suffix}`];
  return [low === undefined ? `at most ${number3(high)}${suffix}` : `${number3(low)} to ${number3(high)}${suffix}`];
}, constraintsOf = (schema) => [
  ...bounds(schema.minLength, schema.maxLength, "characters"),
  ...bounds(schema.minItems, schema.maxItems, "items"),
  ...bounds(schema.minProperties, schema.maxProperties, "member"),
  ...bounds(schema.minimum, schema.maximum, ""),
  ...schema.pattern === undefined ? [] : [`matches \`${schema.pattern}\``],
  ...schema.not?.enum === undefined ? [] : [`not ${schema.not.enum.map((value) => `\`${value}\``).join(" or ")}`],
  ...schema.default === undefined ? [] : [`\`${JSON.stringify(schema.default)}\` when absent`]
], described = (schema, required, description = schema.description) => {
  const constraints = constraintsOf(schema);
  const facts = constraints.length === 0 ? "" : html`; ${inline(constraints.join("; "))}`;
  const need = required ? html` <span class="required">required</span>` : "";
  const text = description === undefined ? "" : html`<p>${inline(description)}</p>`;
  return html`<p class="type">${typeOf(schema)}${facts}${need}</p>${text}`;
}, descriptionOf = (document, schema) => schema.description ?? document.components.schemas[schemaName(schema) ?? ""]?.description, fields2 = (document, schema) => {
  const properties = Object.entries(schema.properties ?? {});
  if (properties.length === 0)
    return html``;
  const rows = properties.map(([name, property]) => {
    const nested = property.properties === undefined ? "" : fields2(document, property);
    const text = described(property, schema.required?.includes(name) ?? false, descriptionOf(document, property));
    return html`<div><dt><code>${name}</code></dt><dd>${text}${nested}</dd></div>`;
  });
  return html`<dl class="fields">${rows}</dl>`;
}, alternativesView = (document, alternatives) => {
  const views = alternatives.map((alternative) => {
    const name = schemaName(alternative);
    const whole = document.components.schemas[name];
    return html`<h5>${link(name)}</h5><p>${inline(whole.description ?? "")}</p>${fields2(document, whole)}`;
  });
  return html`${views}`;
}, schemaView = (document, name) => {
  const schema = document.components.schemas[name];
  if (schema.oneOf !== undefined)
    return alternativesView(document, schema.oneOf);
  return schema.properties === undefined ? described(schema, false, "") : fields2(document, schema);
};
var init_schema_view = __esm(() => {
  init_markdown();
});

// src/http/openapi/page/operation-view.ts
var resolve6 = (document, value) => {
  if (!("$ref" in value))
    return value;
  const [, , kind, name] = value.$ref.split("/");
  return document.components[kind][name];
}, keyOf2 = ({ security }) => {
  if (security.length === 0)
    return "no key";
  return security.length === 1 ? "secret key" : "secret or public key";
}, parametersOf = (document, { path, operation }) => {
  const byName = new Map;
  for (const value of [...document.paths[path].parameters ?? [], ...operation.parameters ?? []]) {
    const parameter = resolve6(document, value);
    byName.set(`${parameter.in} ${parameter.name}`, parameter);
  }
  return [...byName.values()];
}, parameterList = (document, entry) => {
  const parameters = parametersOf(document, entry).filter(({ name }) => name !== "X-Request-Id");
  if (parameters.length === 0)
    return html``;
  const rows = parameters.map(({ name, in: where, schema, required, description }) => html`
<div><dt><code>${name}</code><small>${where}</small></dt><dd>${described(schema, required ?? false, description)}</dd></div>`);
  return html`<h4>Parameters</h4><dl class="fields">${rows}</dl>`;
}, bodyView = (document, { operation }) => {
  if (operation.requestBody === undefined)
    return html``;
  const { description, required, content } = operation.requestBody;
  const { schema } = content["application/json"];
  const name = schemaName(schema);
  const properties = Object.values(document.components.schemas[name].properties ?? {});
  const listed = properties.flatMap(({ items }) => items?.oneOf ?? []);
  return html`<h4>Body</h4>
<p>${typeOf(schema)}${required ? "" : ", or empty"}. ${description}</p>
${schemaView(document, name)}${alternativesView(document, listed)}`;
}, everywhere, headerNote = (response) => {
  const names = Object.keys(response.headers).filter((name) => !everywhere.includes(name));
  if (names.length === 0)
    return html``;
  return html`<p class="type">with ${names.map((name, i) => [i === 0 ? "" : ", ", html`<code>${name}</code>`])}</p>`;
}, errorCodesOf = (response) => {
  const narrowed = response.content?.["application/json"]?.schema.allOf?.[1];
  return narrowed?.properties?.error?.properties?.code?.enum ?? [];
}, answerView = (document, status, value) => {
  const response = resolve6(document, value);
  const codes = errorCodesOf(response);
  const schema = Object.values(response.content ?? {})[0]?.schema;
  const what = codes.length > 0 ? html`<p>${codes.map((name, i) => [i === 0 ? "" : ", ", code(name)])}</p>` : html`<p>${inline(response.description)} ${schema === undefined ? "" : typeOf(schema)}</p>`;
  return html`<div><dt>${status}</dt><dd>${what}${headerNote(response)}</dd></div>`;
}, answerList = (document, { operation }) => html`<h4>Answers</h4>
<dl class="fields answers">${Object.entries(operation.responses).map(([status, value]) => answerView(document, status, value))}</dl>`, answerOf = (document, operation, name) => {
  for (const [status, described] of Object.entries(operation.responses)) {
    const response = resolve6(document, described);
    const body = Object.values(response.content ?? {})[0]?.examples?.[name];
    const shown = Object.entries(response.headers).flatMap(([header, value]) => {
      const example = resolve6(document, value).examples?.[name];
      return example === undefined ? [] : [[header, example]];
    });
    if (body === undefined && shown.length === 0)
      continue;
    const given = [body, ...shown.map(([, example]) => example)].flatMap((example) => example?.["x-given"] ?? []);
    const headers = shown.map(([header, { value }]) => [header, String(value)]);
    return { status, headers, value: body?.value, given };
  }
  throw new Error(`no answer of ${operation.operationId} has the example ${name}`);
}, bodyText = (value) => typeof value === "string" ? value : JSON.stringify(value, null, 2), givenNote = (steps) => {
  if (steps.length === 0)
    return html``;
  const shown = steps.map(({ method, path }, i) => [i === 0 ? "" : ", then ", html`<code>${method} ${path}</code>`]);
  return html`<p>After ${shown}.</p>`;
}, exampleView = (document, operation, sample, open) => {
  const { status, headers, value, given } = answerOf(document, operation, sample.example);
  const headerLines = headers.map(([name, header]) => `${name}: ${header}
`).join("");
  const body = value === undefined ? "" : bodyText(value);
  const text = [headerLines, body].filter((part) => part !== "").join(`
`);
  const bad = Number(status) >= 400 ? " bad" : "";
  const kept = html`<summary>${sample.label}<span class="status${bad}">${status}</span></summary>
${givenNote(given)}<div class="paste"><pre>${sample.source}</pre></div>
<pre>${text}</pre>`;
  return open ? html`<details class="example" open>${kept}</details>` : html`<details class="example">${kept}</details>`;
}, alsoNote = ({ method, also }) => {
  if (also.length === 0)
    return html``;
  const paths = also.map(({ path }, i) => [i === 0 ? "" : ", ", html`<code>${method.toUpperCase()} ${path}</code>`]);
  return html`<p>Also ${paths}: ${inline(also[0].operation.description)}</p>`;
}, operationView = (document, entry) => {
  const { method, path, operation } = entry;
  const samples = operation["x-codeSamples"] ?? [];
  return html`
<section class="operation" id="${operation.operationId}">
<h3>${operation.summary}</h3>
<p class="route"><span class="method ${method}">${method.toUpperCase()}</span><code>${path}</code><span class="key">${keyOf2(operation)}</span></p>
${markdown(operation.description)}${alsoNote(entry)}
${parameterList(document, entry)}
${bodyView(document, entry)}
${answerList(document, entry)}
<h4>Examples</h4>
${samples.map((sample, i) => exampleView(document, operation, sample, i === 0))}
</section>`;
};
var init_operation_view = __esm(() => {
  init_markdown();
  init_schema_view();
  everywhere = ["X-Request-Id", "Cache-Control", "Access-Control-Allow-Origin", "Access-Control-Expose-Headers"];
});

// src/http/openapi/page/script.ts
var script = `
const base = new URL('.', location.href).href.replace(/[/]$/, '')
for (const place of document.querySelectorAll('[data-base]')) place.textContent = base

if (navigator.clipboard) {
  for (const box of document.querySelectorAll('.paste')) {
    const button = document.createElement('button')
    button.type = 'button'
    button.textContent = 'Copy'
    button.onclick = async () => {
      await navigator.clipboard.writeText(box.querySelector('pre').textContent)
      button.textContent = 'Copied'
      setTimeout(() => { button.textContent = 'Copy' }, 1500)
    }
    box.append(button)
  }
}

const contents = document.querySelector('nav > details')
const wide = matchMedia('(min-width: 60.01rem)')
const fold = () => { contents.open = wide.matches }
wide.addEventListener('change', fold)
fold()
contents.addEventListener('click', (event) => { if (event.target.closest('a')) fold() })

const filter = document.createElement('input')
filter.type = 'search'
filter.placeholder = 'Filter'
filter.setAttribute('aria-label', 'Filter the table of contents')
filter.oninput = () => {
  const words = filter.value.toLowerCase().split(/\\s+/)
  for (const item of contents.querySelectorAll('li')) {
    const text = (item.textContent + ' ' + (item.dataset.words ?? '')).toLowerCase()
    item.hidden = !words.every((word) => text.includes(word))
  }
  for (const group of contents.querySelectorAll('.group')) group.hidden = !group.querySelector('li:not([hidden])')
}
contents.querySelector('summary').after(filter)
`;

// src/http/openapi/page/style.ts
var style = `
:root {
  color-scheme: light dark;
  --ground: #fff; --raised: #f6f7f9; --text: #1c2128; --quiet: #57606a; --line: #d9dee4; --link: #0a58ca;
  --get: #0b6e4f; --post: #0a58ca; --put: #8a5200; --delete: #b3261e; --other: #57606a;
}
@media (prefers-color-scheme: dark) {
  :root {
    --ground: #14171c; --raised: #1d2229; --text: #e3e7ec; --quiet: #9aa4b0; --line: #333b45; --link: #79b0ff;
    --get: #5bd1a5; --post: #79b0ff; --put: #e9b161; --delete: #ff8f87; --other: #9aa4b0;
  }
}
* { box-sizing: border-box; }
html { scroll-padding-top: 1rem; }
body {
  margin: 0; background: var(--ground); color: var(--text);
  font: 1rem/1.55 system-ui, -apple-system, 'Segoe UI', Roboto, 'Helvetica Neue', sans-serif;
}
code, pre { font-family: ui-monospace, SFMono-Regular, Menlo, Consolas, 'DejaVu Sans Mono', monospace; font-size: .875em; }
code { overflow-wrap: anywhere; }
p code, li code { background: var(--raised); border-radius: .25rem; padding: .05em .2em; }
.route code, .type code { background: none; padding: 0; }
a { color: var(--link); text-decoration-thickness: 1px; text-underline-offset: 2px; }
:focus-visible { outline: 2px solid var(--link); outline-offset: 2px; }
.skip { position: absolute; left: -99rem; }
.skip:focus { left: 1rem; top: 1rem; background: var(--ground); padding: .5rem; }

.layout { display: grid; grid-template-columns: 20rem minmax(0, 1fr); max-width: 84rem; margin: 0 auto; }
nav { border-right: 1px solid var(--line); }
nav > details { position: sticky; top: 0; max-height: 100vh; overflow-y: auto; padding: 1.5rem 1rem; }
nav summary { display: none; }
nav h2 { font-size: .8125rem; color: var(--quiet); margin: 1.25rem 0 .25rem; }
nav ul { list-style: none; margin: 0; padding: 0; }
nav li a {
  display: grid; grid-template-columns: 3.75rem 1fr; align-items: baseline; padding: .2rem .5rem; border-radius: .375rem;
  color: inherit; text-decoration: none; font-size: .875rem; line-height: 1.35;
}
nav li.plain a { display: block; }
nav li a:hover { background: var(--raised); }
nav input {
  width: 100%; padding: .4rem .6rem; font: inherit; font-size: .875rem;
  background: var(--ground); color: inherit; border: 1px solid var(--line); border-radius: .375rem;
}
main { padding: 2rem clamp(1rem, 4vw, 3rem) 6rem; min-width: 0; }
main > section { max-width: 52rem; }
h1 { font-size: 2rem; line-height: 1.2; margin: 0; }
h1 small { font-size: 1rem; font-weight: 400; color: var(--quiet); }
.lead { font-size: 1.125rem; color: var(--quiet); margin: .5rem 0 1.5rem; }
h2 { font-size: 1.5rem; margin: 4rem 0 .5rem; }
h3 { font-size: 1.1875rem; line-height: 1.3; margin: 2rem 0 .5rem; }
h4 { font-size: .9375rem; margin: 1.75rem 0 .5rem; }
h5 { font-size: .9375rem; margin: 1.25rem 0 .25rem; }
p, ul { margin: .5rem 0; }
ul { padding-left: 1.25rem; }

.operation { border-top: 1px solid var(--line); margin-top: 2.5rem; padding-top: .5rem; }
.operation h3 { margin-top: 1rem; }
.method { font-family: ui-monospace, SFMono-Regular, Menlo, Consolas, 'DejaVu Sans Mono', monospace; font-weight: 700; font-size: .75rem; color: var(--other); }
.method.get, .method.head { color: var(--get); } .method.post { color: var(--post); }
.method.put { color: var(--put); } .method.delete { color: var(--delete); }
.route {
  display: flex; flex-wrap: wrap; gap: .25rem .75rem; align-items: baseline; margin: .5rem 0;
  background: var(--raised); border: 1px solid var(--line); border-radius: .5rem; padding: .5rem .75rem;
}
.route .method { font-size: .875rem; }
.route code { font-size: .9375rem; }
.route .key { margin-left: auto; font-size: .8125rem; color: var(--quiet); }

.fields { margin: .5rem 0; border-top: 1px solid var(--line); }
.fields > div {
  display: grid; grid-template-columns: 13.5rem minmax(0, 1fr); gap: 0 1rem; padding: .5rem 0; border-bottom: 1px solid var(--line);
}
.fields .fields { border: 0; margin: .25rem 0 0; } .fields .fields > div:last-child { border: 0; padding-bottom: 0; }
dt { font-weight: 600; }
dt small { display: block; font-weight: 400; color: var(--quiet); }
dd { margin: 0; }
dd p { margin: 0; }
.type { color: var(--quiet); font-size: .875rem; }
.required { color: var(--delete); white-space: nowrap; }

.example { border: 1px solid var(--line); border-radius: .5rem; margin: .5rem 0; overflow: hidden; }
.example > summary { cursor: pointer; padding: .5rem .75rem; display: flex; gap: .75rem; align-items: baseline; }
.example > summary::before { content: '+'; color: var(--quiet); width: .75rem; }
.example[open] > summary::before { content: '\u2212'; }
.example > summary .status { margin-left: auto; color: var(--quiet); font-size: .875rem; white-space: nowrap; }
.example > summary .status.bad { color: var(--delete); }
.example > p { margin: 0; padding: 0 .75rem .5rem; font-size: .875rem; color: var(--quiet); }
pre { margin: 0; padding: .75rem; background: var(--raised); line-height: 1.5; white-space: pre-wrap; overflow-wrap: anywhere; }
.example pre { border-top: 1px solid var(--line); }
.setup { border: 1px solid var(--line); border-radius: .5rem; overflow: hidden; }
.paste { position: relative; }
.paste:has(button) pre { padding-right: 5rem; }
.paste button {
  position: absolute; top: .5rem; right: .5rem; font: inherit; font-size: .75rem; padding: .125rem .5rem; cursor: pointer;
  background: var(--ground); color: var(--quiet); border: 1px solid var(--line); border-radius: .375rem;
}
.paste button:hover { color: var(--text); }
[hidden] { display: none !important; }

@media (max-width: 60rem) {
  .layout { display: block; }
  nav { border: 0; border-bottom: 1px solid var(--line); }
  nav > details { position: static; max-height: none; padding: .75rem 1rem; }
  nav summary { display: block; cursor: pointer; font-weight: 600; }
  nav summary::after { content: ' \u25BE'; color: var(--quiet); }
  nav input { margin-top: .75rem; }
  main { padding-top: 1.25rem; }
  .route .key { margin-left: 0; width: 100%; }
}
@media (max-width: 36rem) {
  .fields > div { grid-template-columns: 1fr; }
  dt small { display: inline; margin-left: .5rem; }
}
`;

// src/http/openapi/page/render.ts
var entriesOf = (document) => {
  const all = Object.entries(document.paths).flatMap(([path, item]) => httpMethods.flatMap((method) => {
    const operation = item[method];
    return operation === undefined ? [] : [{ method, path, operation, also: [] }];
  }));
  const entries = all.filter(({ operation }) => operation["x-same-as"] === undefined);
  for (const entry of entries) {
    entry.also = all.filter(({ operation }) => operation["x-same-as"] === entry.operation.operationId);
  }
  return entries;
}, contents = (document, entries) => {
  const plain = (id, title) => html`<li class="plain"><a href="#${id}">${title}</a></li>`;
  const group = (title, items) => html`<div class="group"><h2>${title}</h2><ul>${items}</ul></div>`;
  const operationItem = ({ method, path, operation }) => html`
<li data-words="${path}"><a href="#${operation.operationId}"><span class="method ${method}">${method.toUpperCase()}</span><span>${operation.summary}</span></a></li>`;
  return html`
<nav aria-label="Contents"><details open><summary>Contents</summary>
${group("Overview", [plain("top", "Try it"), ...headingsOf(document.info.description).map(({ id, title }) => plain(id, title))])}
${document.tags.map(({ name }) => group(name, entries.filter(({ operation }) => operation.tags.includes(name)).map(operationItem)))}
${group("Reference", [plain("error-codes", "Error codes"), plain("schemas", "Schemas")])}
</details></nav>`;
}, overview2 = ({ info }) => html`
<section id="top">
<h1>${info.title} <small>${info.version}</small></h1>
<p class="lead">${info.summary}</p>
<p>The examples below can be pasted into a shell once it knows where the server is and which key to use. The same in machine-readable form: <a href="openapi.json">openapi.json</a>.</p>
<div class="setup paste"><pre>export CUBBY_URL=<span data-base>http://127.0.0.1:4600</span>
export CUBBY_KEY=svc_live_\u2026</pre></div>
${markdown(info.description)}
</section>`, errorList = () => html`
<section><h2 id="error-codes">Error codes</h2>
<dl class="fields">${errorCodes.map((name) => html`
<div id="error-${name}"><dt><code>${name}</code><small>${statusOf[name]}</small></dt><dd><p>${inline(meanings[name])}</p></dd></div>`)}</dl></section>`, schemaList = (document) => html`
<section><h2 id="schemas">Schemas</h2>
<p>Requests take no other members than these; answers may have more in later versions.</p>
${Object.entries(document.components.schemas).map(([name, schema]) => html`
<section class="operation" id="schema-${name}"><h3>${name}</h3>
<p>${inline(schema.description ?? "")}</p>
${schemaView(document, name)}</section>`)}</section>`, icon = "data:image/svg+xml,%3Csvg xmlns='http://www.w3.org/2000/svg' viewBox='0 0 16 16'%3E%3Crect width='16' height='16' rx='3' fill='%230a58ca'/%3E%3Cpath d='M11 5.5A4 4 0 1 0 11 10.5' fill='none' stroke='white' stroke-width='2'/%3E%3C/svg%3E", renderPage = (document) => {
  const entries = entriesOf(document);
  const sections = document.tags.map(({ name, description }) => html`
<section><h2>${name}</h2><p>${inline(description)}</p>
${entries.filter(({ operation }) => operation.tags.includes(name)).map((entry) => operationView(document, entry))}
</section>`);
  return html`<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>${document.info.title} HTTP API</title>
<link rel="icon" href="${new Html(icon)}">
<style>${new Html(style)}</style>
</head>
<body>
<a class="skip" href="#main">To the text</a>
<div class="layout">
${contents(document, entries)}
<main id="main">
${overview2(document)}
${sections}
${errorList()}
${schemaList(document)}
</main>
</div>
<script>${new Html(script)}</script>
</body>
</html>
`.text;
}, hashOf = (text) => `'sha256-${new Bun.CryptoHasher("sha256").update(text).digest("base64")}'`, contentSecurityPolicy;
var init_render = __esm(() => {
  init_errors();
  init_status();
  init_errors2();
  init_types();
  init_markdown();
  init_operation_view();
  init_schema_view();
  contentSecurityPolicy = [
    "default-src 'none'",
    `style-src ${hashOf(style)}`,
    `script-src ${hashOf(script)}`,
    "img-src data:",
    "base-uri 'none'",
    "form-action 'none'",
    "frame-ancestors 'none'"
  ].join("; ");
});

// src/http/openapi/respond.ts
var exports_respond = {};
__export(exports_respond, {
  respondDescription: () => respondDescription,
  respondDocsPage: () => respondDocsPage
});
var once2 = (make) => {
  let made;
  return () => {
    made ??= make();
    return made;
  };
}, document, documentBlob, pageBlob, commonHeaders3 = (requestId) => ({
  "Cache-Control": "private, no-cache",
  "X-Request-Id": requestId,
  "X-Content-Type-Options": "nosniff",
  "Access-Control-Allow-Origin": "*",
  "Access-Control-Expose-Headers": "ETag, Retry-After, X-Request-Id"
}), respondDescription = (requestId) => new Response(documentBlob(), {
  headers: { ...commonHeaders3(requestId), "Content-Type": "application/json" }
}), respondDocsPage = (requestId) => new Response(pageBlob(), {
  headers: {
    ...commonHeaders3(requestId),
    "Content-Type": "text/html; charset=utf-8",
    "Content-Security-Policy": contentSecurityPolicy,
    "Referrer-Policy": "no-referrer"
  }
});
var init_respond2 = __esm(() => {
  init_document();
  init_render();
  document = once2(makeDocument);
  documentBlob = once2(() => new Blob([JSON.stringify(document())]));
  pageBlob = once2(() => new Blob([renderPage(document())]));
});

// src/cli/run.ts
init_package();
init_errors();
init_store_refused();
import { parseArgs } from "util";

// src/cli/backup.ts
import {
  chmodSync,
  closeSync as closeSync3,
  constants,
  copyFileSync,
  existsSync as existsSync3,
  fsyncSync as fsyncSync3,
  openSync as openSync4,
  renameSync,
  rmdirSync,
  rmSync as rmSync2,
  statSync as statSync3
} from "fs";
import { dirname as dirname3, join as join5, resolve as resolve3 } from "path";

// src/engines/sqlite/check.ts
init_indices();

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

// src/engines/sqlite/check.ts
var rowsPerStep = 2000;
async function* checkStore(db, noteTable = () => {}) {
  const parts = [checkPages, checkRegistry, checkRecords];
  let isSound = true;
  for (const part of parts) {
    try {
      for await (const finding of part(db, noteTable)) {
        isSound = false;
        yield finding;
      }
    } catch (error) {
      isSound = false;
      yield `sqlite: ${error.message}`;
    }
  }
  if (!isSound) {
    for (const id of readTableIds(db))
      if (isDamagedTable(db, id))
        noteTable(id);
  }
}
function* checkPages(db, noteTable) {
  const rows = db.prepare("PRAGMA integrity_check").iterate();
  const treeNames = readTreeNames(db);
  for (const { integrity_check: text } of rows) {
    for (const line of text.split(`
`)) {
      if (line === "ok" || line.startsWith("***") || line === "")
        continue;
      const row = /^row (\d+) missing from index records_/.exec(line);
      if (row !== null)
        noteTableOf(db, Number(row[1]), noteTable);
      const tree = treeNames.get(/^Tree (\d+)/.exec(line)?.[1] ?? "");
      yield `sqlite: ${line}${tree === undefined ? "" : ` (${tree})`}`;
    }
  }
}
var readTreeNames = (db) => new Map(db.prepare("SELECT CAST(rootpage AS TEXT) AS root, name FROM sqlite_schema WHERE rootpage > 0").all().map(({ root, name }) => [root, name]));
var noteTableOf = (db, recordId, noteTable) => {
  const find = db.prepare("SELECT table_id FROM records WHERE id = ?1");
  const row = orDamage(() => find.get(recordId));
  if (row !== damaged && row !== null)
    noteTable(row.table_id);
};
var damaged = Symbol("damaged");
var orDamage = (read) => {
  try {
    return read();
  } catch (error) {
    if (isDamage(error))
      return damaged;
    throw error;
  }
};
var readTableIds = (db) => {
  const ids = [];
  orDamage(() => {
    for (const { id } of db.prepare("SELECT id FROM tables ORDER BY id").iterate())
      ids.push(id);
  });
  return ids;
};
var isDamagedTable = (db, tableId) => {
  const count = (index, where = "") => orDamage(() => db.prepare(`SELECT count(*) AS n FROM records INDEXED BY ${index} WHERE table_id = ?1${where}`).get(tableId).n);
  const columns = slots.map((slot) => `count(${slot}_hash) AS ${slot}`).join(", ");
  const rows = orDamage(() => db.prepare(`SELECT count(*) AS n, total(length(data)), ${columns} FROM records INDEXED BY records_by_key WHERE table_id = ?1`).get(tableId));
  if (rows === damaged || count("records_by_time") !== rows.n)
    return true;
  return slots.some((slot) => count(`records_by_${slot}`, ` AND ${slot}_hash IS NOT NULL`) !== rows[slot]);
};
function* checkRegistry(db, noteTable) {
  const lines = (sql) => db.prepare(sql).all().map((row) => row.line);
  yield* lines(`SELECT 'api key ' || id || ' belongs to no organization' AS line FROM api_keys
    WHERE org_id NOT IN (SELECT id FROM organizations)`);
  const lost = db.prepare("SELECT id FROM tables WHERE org_id NOT IN (SELECT id FROM organizations)");
  for (const { id } of lost.all()) {
    noteTable(id);
    yield `table ${id} belongs to no organization`;
  }
  yield* lines(`SELECT 'record id ' || max(id) || ' was never given out' AS line FROM records
    HAVING max(id) >= (SELECT value FROM meta WHERE name = 'next_record_id')`);
}
async function* checkRecords(db, noteTable) {
  const step = db.prepare(`
    SELECT id, table_id, CAST(hash_key AS TEXT) AS hashKey, CAST(range_key AS TEXT) AS rangeKey, data,
      ${entriesSql} AS entries
    FROM records r WHERE id > ?1 ORDER BY id LIMIT ?2`);
  const read = (afterId, rowsMax) => orDamage(() => step.all(afterId, rowsMax));
  const indicesOf = tableIndices(db);
  let rowsMax = rowsPerStep;
  for (let last = 0;; ) {
    const rows = read(last, rowsMax);
    if (rows === damaged) {
      if (rowsMax > 1)
        rowsMax = Math.ceil(rowsMax / 8);
      else {
        const next = firstReadable(last, (afterId) => read(afterId, 1) !== damaged);
        yield `records of the ids ${last + 1} to ${next ?? "the last"} cannot be read`;
        if (next === undefined)
          return;
        last = next;
        rowsMax = rowsPerStep;
      }
      continue;
    }
    if (rows.length === 0)
      return;
    for (const row of rows) {
      const finding = checkRecord(row, indicesOf(row.table_id));
      if (finding === undefined)
        continue;
      noteTable(row.table_id);
      yield `record ${row.id} (table ${row.table_id}, ${JSON.stringify(row.hashKey)}): ${finding}`;
    }
    last = rows.at(-1).id;
    await Bun.sleep(0);
  }
}
var firstReadable = (last, isReadableAfter) => {
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
};
var tableIndices = (db) => {
  const find = db.prepare("SELECT indices FROM tables WHERE id = ?1");
  const known = new Map;
  return (tableId) => {
    if (!known.has(tableId)) {
      const row = orDamage(() => find.get(tableId));
      known.set(tableId, row === damaged ? damaged : row?.indices);
    }
    return known.get(tableId);
  };
};
var checkRecord = (row, indices) => {
  if (indices === undefined)
    return "its table does not exist";
  let data;
  try {
    data = JSON.parse(row.data);
  } catch {
    return "its data is not JSON";
  }
  if (indices === damaged)
    return;
  try {
    const expected = indexEntries(JSON.parse(indices), data);
    const stored = JSON.parse(row.entries);
    const wrong = expected.findIndex((value, i) => value !== stored[i]);
    return wrong < 0 ? undefined : `${slots[wrong >> 1]} does not hold what its data says`;
  } catch (error) {
    return `its data cannot be indexed: ${error.message}`;
  }
};

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

// src/engines/sqlite/schema.ts
init_indices();
init_store_refused();
import { Database as Database3 } from "bun:sqlite";
import { dirname as dirname2 } from "path";

// src/engines/sqlite/disk-failure.ts
init_store_refused();
import { Database as Database2 } from "bun:sqlite";
import {
  closeSync as closeSync2,
  existsSync,
  fsyncSync as fsyncSync2,
  openSync as openSync2,
  readdirSync,
  readFileSync,
  readlinkSync,
  realpathSync,
  rmSync,
  writeSync
} from "fs";
import { join } from "path";

// src/engines/sqlite/end-process.ts
import { dlopen } from "bun:ffi";
var libraries = [
  "libc.so.6",
  `libc.musl-${process.arch === "arm64" ? "aarch64" : "x86_64"}.so.1`,
  "libSystem.B.dylib"
];
var endProcess = (exitCode) => {
  for (const library of libraries) {
    try {
      dlopen(library, { _exit: { args: ["i32"], returns: "void" } }).symbols._exit(exitCode);
    } catch {}
  }
  process.kill(process.pid, "SIGKILL");
  for (;; )
    Bun.sleepSync(1000);
};

// src/engines/sqlite/store-files.ts
import { closeSync, fsyncSync, mkdirSync, openSync, statSync } from "fs";
import { dirname, resolve } from "path";
var syncDirectory = (path) => {
  const descriptor = openSync(path, "r");
  try {
    fsyncSync(descriptor);
  } finally {
    closeSync(descriptor);
  }
};
var makeDataDir = (dataDir) => {
  const first = mkdirSync(dataDir, { recursive: true, mode: 448 });
  if (first === undefined)
    return;
  const top = dirname(resolve(first));
  for (let parent = dirname(resolve(dataDir));; parent = dirname(parent)) {
    syncDirectory(parent);
    if (parent === top || parent === dirname(parent))
      return;
  }
};
var makePrivateFile = (path) => {
  try {
    closeSync(openSync(path, "wx", 384));
  } catch (error) {
    if (error.code !== "EEXIST")
      throw error;
  }
};
var warnOfOpenDirectory = (dataDir, log) => {
  const mode = statSync(dataDir).mode & 511;
  if ((mode & 63) === 0)
    return;
  const hint = "every organization is in it: chmod 700";
  log("warn", "other users can enter the data directory", { data: dataDir, mode: mode.toString(8), hint });
};

// src/engines/sqlite/disk-failure.ts
var markName = "sync-failed";
var waitMs = 100;
var logWaitMs = 1e4;
var markOf = (dataDir) => join(dataDir, markName);
var isMarked = (dataDir) => existsSync(markOf(dataDir));
var leaveMark = (dataDir, cause) => {
  const descriptor = openSync2(markOf(dataDir), "w", 384);
  try {
    writeSync(descriptor, `${new Date().toISOString()} process ${process.pid}: ${cause}
`);
    fsyncSync2(descriptor);
  } finally {
    closeSync2(descriptor);
  }
  syncDirectory(dataDir);
};
var removeMark = (dataDir) => {
  rmSync(markOf(dataDir), { force: true });
  syncDirectory(dataDir);
};
var noteDiskFailure = (dataDir, cause, log) => {
  log("error", "the disk failed: ending without closing the store, exit 1", {
    cause,
    next: "Start the server again: it copies cubby.db-wal, which has every acknowledged write, into cubby.db first. Do not delete cubby.db-wal."
  });
  try {
    leaveMark(dataDir, cause);
  } catch (error) {
    log("error", "the mark for the next start could not be written", {
      cause: String(error),
      next: "End every process that has the store open before you start the server again."
    });
  }
};
var refuseMarked = (dataDir) => {
  if (!isMarked(dataDir))
    return;
  throw new StoreRefused(`the server of ${dataDir} ended because the disk failed (see ${markName} there); start the server first: it recovers the store before anyone else may open it`);
};
var closeUnlessMarked = (dataDir, close) => {
  if (!isMarked(dataDir))
    close();
  else
    process.once("exit", endProcess);
};
var recoverMarked = async (dataDir, log) => {
  if (!isMarked(dataDir))
    return;
  const path = join(dataDir, "cubby.db");
  if (existsSync(path)) {
    let nextLogMs = 0;
    while (!copyWholeLog(path)) {
      if (performance.now() >= nextLogMs) {
        nextLogMs = performance.now() + logWaitMs;
        log("warn", "the disk failed in the last run; waiting until no other process has the store open", {
          processes: processesWith(path)
        });
      }
      await Bun.sleep(waitMs);
    }
  }
  removeMark(dataDir);
  log("info", "recovered after a failed disk: the whole of cubby.db-wal is in cubby.db");
};
var copyWholeLog = (path) => {
  const db = new Database2(path, { readwrite: true });
  try {
    db.run("PRAGMA locking_mode = EXCLUSIVE");
    db.run("PRAGMA busy_timeout = 0");
    db.run("PRAGMA synchronous = FULL");
    const checkpoint = db.prepare("PRAGMA wal_checkpoint(TRUNCATE)");
    try {
      return checkpoint.get().busy === 0;
    } finally {
      checkpoint.finalize();
    }
  } catch (error) {
    const code = String(error.code);
    if (code.startsWith("SQLITE_BUSY"))
      return false;
    if (/^SQLITE_(CORRUPT|NOTADB)/.test(code))
      throw refuseDamaged(path, error);
    throw new StoreRefused(`the last server ended because the disk failed, and cubby.db-wal could not be copied into ${path} now (${code}: ${error.message}); ${code.startsWith("SQLITE_FULL") ? "make room on the disk" : "repair or replace the disk"} and start again; do not delete cubby.db-wal`);
  } finally {
    db.close();
  }
};
var processesWith = (path) => {
  try {
    const files = new Set(["", "-wal", "-shm"].map((end) => realpathSync(path) + end));
    const found = readdirSync("/proc").filter((pid) => /^[0-9]+$/.test(pid) && Number(pid) !== process.pid && hasOpen(pid, files));
    if (found.length > 0)
      return found.map((pid) => `${pid} (${nameOf(pid)})`);
  } catch {}
  return ["another process"];
};
var hasOpen = (pid, files) => {
  const dir = `/proc/${pid}/fd`;
  try {
    return readdirSync(dir).some((fd) => files.has(targetOf(`${dir}/${fd}`)));
  } catch {
    return false;
  }
};
var targetOf = (link) => {
  try {
    return readlinkSync(link);
  } catch {
    return "";
  }
};
var nameOf = (pid) => {
  try {
    return readFileSync(`/proc/${pid}/comm`, "utf8").trim();
  } catch {
    return "ended";
  }
};

// src/engines/sqlite/schema.ts
var schemaVersion = 1;
var applicationId = 1131766393;
var schema = `
  CREATE TABLE meta (
    name TEXT PRIMARY KEY,
    value INTEGER NOT NULL
  ) STRICT, WITHOUT ROWID;
  INSERT INTO meta VALUES ('registry_epoch', 1), ('next_record_id', 1);

  CREATE TABLE organizations (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    name TEXT NOT NULL UNIQUE,
    created_at INTEGER NOT NULL
  ) STRICT;

  CREATE TABLE api_keys (
    seq INTEGER PRIMARY KEY AUTOINCREMENT,
    id TEXT NOT NULL UNIQUE,
    org_id INTEGER NOT NULL REFERENCES organizations,
    kind TEXT NOT NULL CHECK (kind IN ('secret', 'public')),
    name TEXT,
    hash TEXT NOT NULL UNIQUE,
    last_four TEXT NOT NULL,
    databases TEXT,
    created_at INTEGER NOT NULL,
    last_used_at INTEGER,
    expires_at INTEGER,
    revoked_at INTEGER
  ) STRICT;
  CREATE INDEX api_keys_by_org ON api_keys (org_id, seq);

  CREATE TABLE tables (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    org_id INTEGER NOT NULL REFERENCES organizations,
    db TEXT NOT NULL,
    name TEXT NOT NULL,
    indices TEXT NOT NULL,
    created_at INTEGER NOT NULL,
    deleted_at INTEGER,
    purging INTEGER NOT NULL DEFAULT 0
  ) STRICT;
  CREATE UNIQUE INDEX tables_active ON tables (org_id, db, name) WHERE deleted_at IS NULL;
  CREATE UNIQUE INDEX tables_deleted ON tables (org_id, db, name, deleted_at) WHERE deleted_at IS NOT NULL;
  CREATE INDEX tables_to_purge ON tables (deleted_at) WHERE deleted_at IS NOT NULL;

  CREATE TABLE records (
    id INTEGER PRIMARY KEY,
    table_id INTEGER NOT NULL,
    hash_key BLOB NOT NULL,
    range_key BLOB NOT NULL,
    updated_at INTEGER NOT NULL,
    ttl INTEGER,
    ${slots.map((slot) => `${slot}_hash BLOB, ${slot}_range BLOB,`).join(`
    `)}
    data TEXT NOT NULL
  ) STRICT;
  CREATE UNIQUE INDEX records_by_key ON records (table_id, hash_key, range_key);
  CREATE INDEX records_by_time ON records (table_id, updated_at);
  CREATE INDEX records_by_ttl ON records (ttl) WHERE ttl IS NOT NULL;
  ${slots.map((slot) => `CREATE INDEX records_by_${slot} ON records (table_id, ${slot}_hash, ${slot}_range) WHERE ${slot}_hash IS NOT NULL;`).join(`
  `)}
`;
var refuseForeign = (path) => {
  const db = new Database3(path, { readwrite: true });
  const pragma = (name) => Object.values(db.query(`PRAGMA ${name}`).get())[0];
  try {
    db.run("PRAGMA busy_timeout = 5000");
    const isEmpty = db.query("SELECT 1 FROM sqlite_schema LIMIT 1").get() === null;
    if (!isEmpty && pragma("application_id") !== applicationId) {
      throw new StoreRefused(`${path} is an SQLite file, but not a Cubby store`);
    }
    const version = pragma("user_version");
    if (version > schemaVersion) {
      throw new StoreRefused(`the store in ${path} has version ${version}; this Cubby knows versions up to ${schemaVersion}: start a newer one`);
    }
  } finally {
    closeUnlessMarked(dirname2(path), () => db.close());
  }
};
var prepareStore = (path) => {
  makePrivateFile(path);
  try {
    refuseForeign(path);
    prepareSchema(path);
  } catch (error) {
    throw refuseDamaged(path, error);
  }
};
var prepareSchema = (path) => {
  const db = new Connection(path, 2048);
  try {
    const version = db.prepare("PRAGMA user_version");
    if (version.get().user_version === schemaVersion) {
      db.prepare("SELECT name, value FROM meta").all();
      return;
    }
    db.run("BEGIN IMMEDIATE");
    if (version.get().user_version === 0) {
      db.run(schema);
      db.run(`PRAGMA application_id = ${applicationId}`);
      db.run(`PRAGMA user_version = ${schemaVersion}`);
    }
    db.run("COMMIT");
  } finally {
    closeUnlessMarked(dirname2(path), () => db.close());
  }
};

// src/engines/sqlite/store-lock.ts
init_store_refused();
import { Database as Database4 } from "bun:sqlite";
import { join as join2 } from "path";
var holdStore = (dataDir) => {
  const path = join2(dataDir, "serve.lock");
  makePrivateFile(path);
  const db = new Database4(path, { readwrite: true });
  try {
    db.run("PRAGMA busy_timeout = 300");
    db.run("BEGIN EXCLUSIVE");
  } catch (error) {
    db.close();
    if (String(error.code).startsWith("SQLITE_BUSY")) {
      throw new StoreRefused(`another process serves the store in ${dataDir}`);
    }
    throw error;
  }
  return { release: () => db.close() };
};

// src/cli/command.ts
init_errors();

// src/cli/printable.ts
var unprintable = /[\u0000-\u001f\u007f-\u009f\u2028-\u202e\u2066-\u2069]/g;
var inJson = /[\u007f-\u009f\u2028-\u202e\u2066-\u2069]/g;
var escaped = (character) => `\\u${character.charCodeAt(0).toString(16).padStart(4, "0")}`;
var printable = (line) => line.replace(unprintable, escaped);
var printableJson = (text) => text.replaceAll(/\r\n?/g, `
`).replace(inJson, escaped);

// src/cli/command.ts
class UsageError extends Error {
}

class CommandFailed extends Error {
}
var storeFlags = {
  data: { type: "string", value: "DIR", help: "the data directory of the embedded engine", default: "./cubby-data" },
  store: { type: "string", value: "URL", help: "another engine instead: postgres://user:password@host/db" }
};
var jsonFlag = { type: "boolean", help: "print JSON" };
var storeLocation = (args) => ({
  data: args.text("data"),
  store: args.isGiven("data") && !args.isGiven("store") ? undefined : args.text("store")
});
var orUsageError = (parse) => {
  try {
    return parse();
  } catch (error) {
    if (!(error instanceof CubbyError2))
      throw error;
    const { message, hint } = error;
    throw new UsageError((hint === undefined ? message : `${message} ${hint}`).replace(/\.$/, ""));
  }
};
var printLine = (line) => {
  process.stdout.write(`${printable(line)}
`);
};
var printNote = (line) => {
  process.stderr.write(`${printable(line)}
`);
};
var printJson = (value) => printLine(JSON.stringify(value));
var printTable = (rows) => {
  const widths = rows.reduce((widest, row) => row.map((cell, i) => Math.max(widest[i] ?? 0, cell.length)), []);
  for (const row of rows)
    printLine(row.map((cell, i) => cell.padEnd(widths[i])).join("  ").trimEnd());
};

// src/cli/progress.ts
var number = new Intl.NumberFormat("en-US", { maximumFractionDigits: 0 });
var showCount = (count, noun = "record") => `${number.format(count)} ${noun}${count === 1 ? "" : "s"}`;
var showRate = (records, elapsedMs) => `${showCount(records)} in ${(elapsedMs / 1000).toFixed(1)} s, ${number.format(perSecond(records, elapsedMs))} records/s`;
var perSecond = (records, elapsedMs) => records * 1000 / Math.max(1, elapsedMs);
var showDuration = (ms) => {
  const seconds = Math.ceil(ms / 1000);
  const two = (part) => String(part).padStart(2, "0");
  const [hours, minutes] = [Math.floor(seconds / 3600), Math.floor(seconds / 60) % 60];
  return hours > 0 ? `${hours}:${two(minutes)}:${two(seconds % 60)}` : `${minutes}:${two(seconds % 60)}`;
};
var barWidth = 24;
var progressLine = (records, elapsedMs, fraction) => {
  const counts = `${showCount(records)}  ${number.format(perSecond(records, elapsedMs))}/s`;
  if (fraction === undefined)
    return counts;
  const part = Math.min(1, fraction);
  const filled = Math.round(part * barWidth);
  const bar = `[${"#".repeat(filled)}${"-".repeat(barWidth - filled)}]`;
  const left = part > 0 ? `  ${showDuration(elapsedMs * (1 - part) / part)} left` : "";
  return `${bar} ${String(Math.floor(part * 100)).padStart(3)}%  ${counts}${left}`;
};
var everyMs = 200;

class Progress {
  #onTerminal = process.stderr.isTTY === true;
  #startedAtMs = performance.now();
  #baseFraction = 0;
  #drawnAtMs = -everyMs;
  #drawn = false;
  get elapsedMs() {
    return performance.now() - this.#startedAtMs;
  }
  begin(fraction = 0) {
    this.#startedAtMs = performance.now();
    this.#baseFraction = fraction;
  }
  show(records, fraction) {
    const nowMs = performance.now();
    if (!this.#onTerminal || nowMs - this.#drawnAtMs < everyMs)
      return;
    this.#drawnAtMs = nowMs;
    this.#drawn = true;
    const whole = fraction();
    const part = whole === undefined ? undefined : (whole - this.#baseFraction) / Math.max(0.000000001, 1 - this.#baseFraction);
    const line = progressLine(records, this.elapsedMs, part);
    process.stderr.write(`\r\x1B[2K${line.slice(0, Math.max(20, (process.stderr.columns ?? 80) - 1))}`);
  }
  say(line) {
    this.clear();
    printNote(line);
  }
  clear() {
    if (this.#drawn)
      process.stderr.write("\r\x1B[2K");
    this.#drawn = false;
  }
}

// src/engines/open-engine.ts
init_store_refused();
import { existsSync as existsSync2 } from "fs";
import { join as join4, resolve as resolve2 } from "path";

// src/engines/sqlite/engine.ts
init_limits();
import { writeSync as writeSync2 } from "fs";
import { join as join3 } from "path";

// src/engines/sqlite/dump.ts
var chunkBytes = 1024 * 1024;
var chunkRows = 500;
var openDump = (path) => {
  const db = new Connection(path, 4096);
  db.run("PRAGMA query_only = ON");
  db.run("BEGIN");
  db.prepare("SELECT 1 FROM meta").get();
  return {
    organizations: () => db.prepare("SELECT id, name, created_at FROM organizations ORDER BY id").all().map(toOrganization),
    async* apiKeys() {
      for (const row of db.prepare(`SELECT ${keyColumns}, hash FROM api_keys ORDER BY seq`).iterate()) {
        yield { ...toApiKey(row, 0), hash: row.hash };
      }
    },
    async* tables() {
      const rows = db.prepare(`SELECT ${tableColumns}, purging FROM tables ORDER BY id`);
      for (const row of rows.iterate())
        yield { ...toTable(row, 0), purging: row.purging === 1 };
    },
    records: (tableId, afterId) => dumpRecords(db, tableId, afterId),
    countRecords: (tableId) => db.prepare("SELECT count(*) AS n FROM records WHERE table_id = ?1").get(tableId).n,
    async close() {
      db.run("COMMIT");
      db.close();
    }
  };
};
async function* dumpRecords(db, tableId, afterId) {
  const rows = db.prepare(`
    WITH ids AS MATERIALIZED (SELECT id FROM records WHERE table_id = ?1 AND id > ?2 ORDER BY id)
    SELECT r.id, CAST(r.hash_key AS TEXT) AS hashKey, CAST(r.range_key AS TEXT) AS rangeKey, r.updated_at AS updatedAtMs,
      r.ttl AS ttlSeconds, ${entriesSql} AS entries, r.data
    FROM ids JOIN records r ON r.id = ids.id`);
  let chunk = [];
  let bytes = 0;
  for (const row of rows.iterate(tableId, afterId)) {
    chunk.push({ ...row, tableId, entries: JSON.parse(row.entries) });
    bytes += row.data.length;
    if (bytes < chunkBytes && chunk.length < chunkRows)
      continue;
    yield chunk;
    chunk = [];
    bytes = 0;
  }
  if (chunk.length > 0)
    yield chunk;
}

// src/engines/sqlite/file-watch.ts
init_errors();
import { statSync as statSync2 } from "fs";
var lookEveryMs = 1000;

class FileWatch {
  #files;
  #log;
  #timer;
  #missing;
  constructor(path, log) {
    this.#log = log;
    this.#files = [path, `${path}-wal`, `${path}-shm`].map((file) => {
      const { dev, ino } = statSync2(file, { bigint: true });
      return { path: file, device: dev, inode: ino };
    });
    this.#timer = setInterval(() => this.look(), lookEveryMs);
    this.#timer.unref();
  }
  get refusal() {
    if (this.#missing === undefined)
      return;
    return new CubbyError2("unavailable", "The files of the store are not in their place; nothing was applied.", {
      hint: "The operator has to put them back; the log says more.",
      cause: this.#missing
    });
  }
  hold() {
    if (this.#missing !== undefined)
      throw this.refusal;
  }
  look() {
    const missing = this.#files.find((file) => !isInPlace(file))?.path;
    if (missing === this.#missing)
      return;
    const isFirst = this.#missing === undefined;
    this.#missing = missing;
    if (missing === undefined)
      this.#log("info", "the files of the store are back in their place");
    else if (isFirst) {
      const hint = 'do not stop the server before you have read docs/operating.md, "When the files are gone": it still has them open';
      this.#log("error", "files of the store were deleted, moved or replaced; nothing is served", {
        file: missing,
        hint
      });
    }
  }
  stop() {
    clearInterval(this.#timer);
  }
}
var isInPlace = ({ path, device, inode }) => {
  try {
    const found = statSync2(path, { bigint: true, throwIfNoEntry: false });
    return found !== undefined && found.dev === device && found.ino === inode;
  } catch (error) {
    return error.code !== "ENOTDIR";
  }
};

// src/engines/sqlite/registry-cache.ts
init_api_key();
init_limits();
var registryLeaseMs = 100;

class RegistryCache {
  #snapshot;
  #leaseMs;
  #epochRow;
  #keyByHash;
  #tableByName;
  #keys = new Map;
  #tables = new Map;
  #readAtMs = Number.NEGATIVE_INFINITY;
  #epoch = -1;
  constructor(db, snapshot, leaseMs) {
    this.#snapshot = snapshot;
    this.#leaseMs = leaseMs;
    this.#epochRow = db.prepare(`SELECT value FROM meta WHERE name = 'registry_epoch'`);
    this.#keyByHash = db.prepare(`SELECT ${keyColumns} FROM api_keys WHERE hash = ?1`);
    this.#tableByName = db.prepare(`SELECT ${tableColumns} FROM tables WHERE org_id = ?1 AND db = ?2 AND name = ?3 AND deleted_at IS NULL`);
  }
  epoch() {
    const nowMs = performance.now();
    if (nowMs - this.#readAtMs >= this.#leaseMs) {
      this.#snapshot.renew();
      const epoch = this.#epochRow.get().value;
      this.#readAtMs = nowMs;
      if (epoch !== this.#epoch) {
        this.#epoch = epoch;
        this.#keys.clear();
        this.#tables.clear();
      }
    }
    return this.#epoch;
  }
  forgetEpoch() {
    this.#readAtMs = Number.NEGATIVE_INFINITY;
  }
  findApiKey(text) {
    const epoch = this.epoch();
    const known = this.#keys.get(text);
    if (known !== undefined)
      return known;
    this.#snapshot.renew();
    const row = this.#keyByHash.get(hashApiKey(text));
    if (row === null)
      return;
    const key = toApiKey(row, epoch);
    remember(this.#keys, text, key, apiKeyCacheEntriesMax);
    return key;
  }
  findTable(orgId, db, name) {
    const epoch = this.epoch();
    const place = `${orgId}/${db}/${name}`;
    const known = this.#tables.get(place);
    if (known !== undefined)
      return known;
    this.#snapshot.renew();
    const row = this.#tableByName.get(orgId, db, name);
    if (row === null)
      return;
    const table = toTable(row, epoch);
    remember(this.#tables, place, table, tableCacheEntriesMax);
    return table;
  }
}
var remember = (cache, name, value, most) => {
  if (cache.size >= most)
    cache.delete(cache.keys().next().value);
  cache.set(name, value);
};

// src/engines/sqlite/scanner.ts
init_limits();
init_record_json();
var columns = `
  CAST(hash_key AS TEXT) AS hashKey, CAST(range_key AS TEXT) AS rangeKey, updated_at AS updatedAtMs, ttl AS ttlSeconds,
  CASE WHEN ttl <= ?1 THEN NULL ELSE data END AS data`;
var between = (column, descending) => descending ? `${column} >= ?4 AND (${column}, id) < (?5, ?6) ORDER BY ${column} DESC, id DESC` : `(${column}, id) > (?4, ?6) AND ${column} < ?5 ORDER BY ${column}, id`;
var scanSql = (index, descending) => {
  if (index === "primary") {
    return `SELECT ${columns} FROM records
      WHERE table_id = ?2 AND hash_key = CAST(?3 AS BLOB) AND range_key >= ?4 AND range_key < ?5
      ORDER BY range_key${descending ? " DESC" : ""}`;
  }
  if (index === "t") {
    return `SELECT ${columns} FROM records WHERE table_id = ?2 AND ${between("updated_at", descending)}`;
  }
  return `SELECT ${columns} FROM records
    WHERE table_id = ?2 AND ${index}_hash = CAST(?3 AS BLOB) AND ${between(`${index}_range`, descending)}`;
};
var placeOf = (range) => `SELECT id, ${range} AS range FROM records
   WHERE table_id = ?1 AND hash_key = CAST(?2 AS BLOB) AND range_key = CAST(?3 AS BLOB)`;
var placeSql = {
  primary: placeOf("CAST(range_key AS TEXT)"),
  t: placeOf("updated_at"),
  i1: placeOf("CAST(i1_range AS TEXT)"),
  i2: placeOf("CAST(i2_range AS TEXT)"),
  i3: placeOf("CAST(i3_range AS TEXT)"),
  i4: placeOf("CAST(i4_range AS TEXT)"),
  i5: placeOf("CAST(i5_range AS TEXT)")
};

class Scanner {
  #db;
  #ascending = new Map;
  #descending = new Map;
  constructor(db) {
    this.#db = db;
  }
  scan(table, scan, rowsMax, nowMs) {
    const hash = scan.index === "t" ? "" : scan.hash;
    const id = scan.descending ? scan.highId : scan.lowId;
    const values = [nowSeconds(nowMs), table.id, hash, scan.low, scan.high, id];
    if (scan.index === "primary")
      values.pop();
    const records = [];
    const meter = new PageMeter(records);
    let expired = 0;
    let last;
    for (const row of this.#statement(scan).iterate(...values)) {
      if (row.data === null) {
        if (++expired > pageExpiredRowsMax)
          return { records, next: this.#positionOf(table, last, scan.index) };
      } else {
        if (records.length === rowsMax || !meter.takes(row)) {
          return { records, next: this.#positionOf(table, last, scan.index) };
        }
        records.push(row);
      }
      last = row;
    }
    return { records, next: undefined };
  }
  #statement({ index, descending }) {
    const statements = descending ? this.#descending : this.#ascending;
    let statement = statements.get(index);
    if (statement === undefined) {
      statement = this.#db.prepare(scanSql(index, descending));
      statements.set(index, statement);
    }
    return statement;
  }
  #positionOf(table, { hashKey, rangeKey }, index) {
    return this.#db.prepare(placeSql[index]).get(table.id, hashKey, rangeKey);
  }
}

// src/engines/sqlite/snapshot.ts
class Snapshot {
  #db;
  #begin;
  #end;
  #alone;
  #open = false;
  constructor(db, alone) {
    this.#db = db;
    this.#alone = alone;
    this.#begin = db.prepare("BEGIN");
    this.#end = db.prepare("COMMIT");
  }
  noteCommit() {
    this.close();
  }
  refresh() {
    if (!this.#open || !this.#alone)
      this.renew();
  }
  renew() {
    this.close();
    this.#begin.run();
    this.#open = true;
    if (!this.#alone)
      setImmediate(this.#closeLater);
  }
  close() {
    if (!this.#open)
      return;
    this.#open = false;
    try {
      this.#end.run();
    } catch {
      if (this.#db.inTransaction)
        this.#db.run("ROLLBACK");
    }
  }
  #closeLater = () => this.close();
}

// src/engines/sqlite/worker-writer.ts
init_errors();

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

// src/engines/sqlite/write-queue.ts
init_errors();
init_limits();
var upkeepLine = 0;
var full = () => new CubbyError2("unavailable", "The write queue is full; nothing was applied.", {
  hint: "Repeat the request after the time in Retry-After."
});

class WriteQueue {
  #waiting = new FairQueue;
  #requests = new Shares(writeQueueRequestsMax);
  #bytes = new Shares(writeQueueBytesMax);
  get empty() {
    return this.#waiting.size === 0;
  }
  push(orgId, waiting) {
    waiting.orgId = orgId;
    if (orgId !== upkeepLine) {
      const keySeq = keyOf(waiting);
      if (!this.#requests.hasRoom(orgId, keySeq, 1) || !this.#bytes.tryTake(orgId, keySeq, waiting.bytes))
        throw full();
      this.#requests.take(orgId, keySeq, 1);
    }
    this.#waiting.push(orgId, keyOf(waiting), waiting);
  }
  take(ahead) {
    const requestsMax = commitRequestsMax - ahead.requests;
    const bytesMax = commitBytesMax - ahead.bytes;
    const taken = [];
    let bytes = 0;
    for (let next = this.#waiting.peek();next !== undefined && taken.length < requestsMax; next = this.#waiting.peek()) {
      const isAlone = ahead.requests + taken.length === 0;
      if (!isAlone && bytes + next.bytes > bytesMax)
        break;
      this.#waiting.shift();
      this.#giveBack(next);
      taken.push(next);
      bytes += next.bytes;
    }
    return taken;
  }
  #giveBack(waiting) {
    const orgId = waiting.orgId;
    if (orgId === upkeepLine)
      return;
    const keySeq = keyOf(waiting);
    this.#requests.give(orgId, keySeq, 1);
    this.#bytes.give(orgId, keySeq, waiting.bytes);
  }
}
var keyOf = ({ command }) => ("fence" in command) ? command.fence.keySeq ?? 0 : 0;

// src/engines/sqlite/worker-writer.ts
var unknownOutcome = () => new CubbyError2("outcome_unknown", "The writer went away; the write may or may not have been applied.", {
  hint: "Read the record before repeating the request."
});

class WorkerWriter {
  #channel;
  #pending = new Map;
  #next = 1;
  #waiting = emptyGroup();
  #closed = false;
  onCommit = () => {};
  onDamage = () => {};
  constructor(channel, damage) {
    this.#channel = channel;
    channel.onMessage(({ outcomes, damage: cause }) => {
      if (cause !== undefined)
        damage.noteFromElsewhere(cause);
      this.#settle(outcomes);
    });
    damage.onFirst((cause) => channel.send({ ...noCommands, damage: cause }));
    channel.send(noCommands);
    channel.onClose(() => {
      this.#closed = true;
      for (const { reject } of this.#pending.values())
        reject(unknownOutcome());
      this.#pending.clear();
    });
  }
  get ready() {
    return !this.#closed;
  }
  submit(orgId, bytes, command) {
    return new Promise((resolve, reject) => {
      if (this.#closed)
        throw new CubbyError2("unavailable", "The server is stopping; nothing was applied.");
      const waiting = this.#waiting;
      if (waiting.numbers.length === 0)
        setImmediate(() => this.#send());
      const number = this.#next++;
      waiting.commands.push(command);
      waiting.numbers.push(number);
      waiting.orgIds.push(orgId);
      waiting.bytes.push(bytes);
      this.#pending.set(number, { command, resolve, reject });
    });
  }
  submitUpkeep(command) {
    return this.submit(upkeepLine, 0, command);
  }
  #send() {
    const { commands, numbers, orgIds, bytes } = this.#waiting;
    this.#waiting = emptyGroup();
    if (!this.#closed)
      this.#channel.send({ group: encodeGroup(commands), numbers, orgIds, bytes });
  }
  #settle(outcomes) {
    const settled = outcomes.map(([number, outcome]) => ({ waiting: this.#pending.get(number), number, outcome }));
    try {
      this.onCommit(settled.flatMap(({ waiting }) => waiting === undefined ? [] : [waiting.command]));
    } catch {}
    for (const { waiting, number, outcome } of settled) {
      this.#pending.delete(number);
      if ("value" in outcome)
        waiting?.resolve(outcome.value);
      else
        waiting?.reject(new CubbyError2(outcome.failure.code, outcome.failure.message, { hint: outcome.failure.hint }));
    }
  }
  async close() {
    this.#closed = true;
  }
}
var noCommands = { group: encodeGroup([]), numbers: [], orgIds: [], bytes: [] };
var emptyGroup = () => ({
  commands: [],
  group: "",
  numbers: [],
  orgIds: [],
  bytes: []
});
var serveWorker = (port, channel, { damage, refusal }) => {
  let settled = [];
  const answer = (number, outcome) => {
    if (settled.length === 0) {
      setImmediate(() => {
        channel.send({ outcomes: settled });
        settled = [];
      });
    }
    settled.push([number, outcome]);
  };
  const fail = (number, { code, message, hint, cause }) => answer(number, { failure: { code, message, hint, cause } });
  damage.onFirst((cause) => channel.send({ outcomes: [], damage: cause }));
  channel.onMessage(({ group, numbers, orgIds, bytes, damage: met }) => {
    if (met !== undefined)
      damage.noteFromElsewhere(met);
    else if (numbers.length === 0 && damage.cause !== undefined)
      channel.send({ outcomes: [], damage: damage.cause });
    const commands = decodeGroup(group);
    const refused = refusal();
    for (let i = 0;i < commands.length; i++) {
      const number = numbers[i];
      if (refused !== undefined) {
        fail(number, refused);
        continue;
      }
      port.submit(orgIds[i], bytes[i], commands[i]).then(async (value) => {
        if (takesAway(commands[i]))
          await Bun.sleep(registryLeaseMs + leaseMarginMs);
        answer(number, { value });
      }, (error) => fail(number, error));
    }
  });
};
var leaseMarginMs = 50;
var takesAway = ({ kind }) => kind === "deleteTable" || kind === "revokeApiKey";

// src/engines/sqlite/writer-port.ts
init_errors();
import { fdatasync, openSync as openSync3 } from "fs";
var copyAtPages = 16000;
var restartAtPages = 32000;
var restPagesMax = 1000;
var logPagesMax = 64000;
var quietMs = 100;
var handOverRequests = 8;
var restartPauseMs = 1000;
var endMsMax = 2000;
var nothing = { requests: 0, bytes: 0 };
var unavailable = () => new CubbyError2("unavailable", "The store takes no writes just now; nothing was applied.", {
  hint: "Repeat the request after the time in Retry-After."
});

class WriterPort {
  #options;
  #log;
  #queue = new WriteQueue;
  #file;
  onCommit = () => {};
  onDamage = () => {};
  #writer;
  #checkpointer;
  #underWay = [];
  #underWayBytes = 0;
  #gathered = 0;
  #scheduled = false;
  #canCopy = false;
  #copying = false;
  #syncs = 0;
  #restart = "no";
  #logPages = 0;
  #pendingPages = 0;
  #forceAtPages = logPagesMax;
  #commits = 0;
  #quietTimer;
  #tidying = false;
  #closing;
  #closed = false;
  #lost = false;
  #failed = false;
  constructor(options) {
    this.#options = options;
    this.#log = (level, message, fields) => guard(() => options.log(level, message, fields));
    this.#file = options.checkpoints ? openSync3(options.path, "r+") : -1;
  }
  static async open(options) {
    const port = new WriterPort(options);
    try {
      await Promise.all([port.#startWriter(), options.checkpoints && port.#startCheckpointer()]);
      port.#canCopy = options.checkpoints;
    } catch (error) {
      port.#closed = true;
      port.#writer.terminate();
      port.#checkpointer?.terminate();
      throw error;
    }
    return port;
  }
  get ready() {
    return !this.#lost && !this.#closed && !this.#failed;
  }
  get #isIdle() {
    return this.#underWay.length === 0 && this.#queue.empty;
  }
  submit(orgId, bytes, command) {
    return new Promise((resolve, reject) => {
      if (!this.ready)
        throw unavailable();
      this.#queue.push(orgId, { command, bytes, resolve, reject });
      if (++this.#gathered >= handOverRequests)
        this.#handOver();
      else
        this.#schedule();
    });
  }
  submitUpkeep(command) {
    return this.submit(upkeepLine, 0, command);
  }
  get #isAtRest() {
    return this.#isIdle && !this.#copying && this.#restart !== "under way" && this.#syncs === 0;
  }
  async close() {
    this.#closed = true;
    clearTimeout(this.#quietTimer);
    if (!this.#isAtRest) {
      await new Promise((done) => {
        this.#closing = done;
      });
    }
    if (this.#failed)
      await new Promise(() => {});
    await Promise.all([endThread(this.#writer), this.#checkpointer && endThread(this.#checkpointer)]);
  }
  #schedule() {
    if (this.#scheduled)
      return;
    this.#scheduled = true;
    setImmediate(() => {
      this.#scheduled = false;
      this.#handOver();
    });
  }
  #handOver() {
    this.#gathered = 0;
    this.#sendRestart();
    if (this.#lost || this.#restart !== "no" || this.#queue.empty)
      return;
    const group = this.#queue.take({ requests: this.#underWay.length, bytes: this.#underWayBytes });
    if (group.length === 0)
      return;
    for (const waiting of group) {
      this.#underWay.push(waiting);
      this.#underWayBytes += waiting.bytes;
    }
    this.#toWriter({ group: encodeGroup(group.map((waiting) => waiting.command)) });
  }
  #toWriter(message) {
    this.#writer.postMessage(message);
  }
  #settle(outcomes) {
    this.#commits++;
    const settled = this.#underWay.splice(0, outcomes.length);
    for (const waiting of settled)
      this.#underWayBytes -= waiting.bytes;
    this.#noteCommit(settled.map((waiting) => waiting.command));
    this.#handOver();
    let logged;
    for (let i = 0;i < settled.length; i++) {
      const outcome = outcomes[i];
      if ("value" in outcome)
        settled[i].resolve(outcome.value);
      else {
        const { code, message, hint, cause } = outcome.failure;
        if (code === "store_damaged")
          guard(() => this.onDamage(cause));
        else if (cause !== logged)
          this.#log("error", "write failed", { code, cause });
        logged = cause;
        settled[i].reject(new CubbyError2(code, message, { hint, cause }));
      }
    }
    this.#noteRest();
    if (this.#isIdle)
      this.#awaitQuiet();
  }
  #noteRest() {
    if (this.#isAtRest)
      this.#closing?.();
  }
  #noteCommit(commands) {
    try {
      this.onCommit(commands);
    } catch (error) {
      this.#log("error", "the view of the store could not be renewed", { cause: String(error) });
    }
  }
  #fail(failure) {
    if (this.#failed || !this.#options.checkpoints)
      return;
    this.#failed = true;
    this.#options.onDiskFailure(failure);
  }
  #onCheckpointFault({ cause, isRepeatable, isDamage }) {
    if (isDamage)
      guard(() => this.onDamage(cause));
    else if (isRepeatable)
      this.#log("error", "checkpoint failed", { cause });
    else
      this.#fail({ cause, atOnce: true });
  }
  #onLogState(log, pending) {
    if (log < this.#logPages)
      this.#forceAtPages = logPagesMax;
    this.#logPages = log;
    this.#pendingPages = pending;
    const restart = log >= restartAtPages;
    if (this.#restart !== "no" || !this.#options.checkpoints || this.#failed)
      return;
    if (log >= this.#forceAtPages) {
      this.#restart = "due";
      this.#forceAtPages = log + restartAtPages;
    } else if (this.#copying) {} else if (restart && pending > 0 && pending <= restPagesMax) {
      this.#restart = "due";
    } else if (this.#canCopy && pending >= (restart ? restPagesMax : copyAtPages)) {
      this.#copy();
    }
  }
  #copy() {
    this.#copying = true;
    this.#checkpointer.postMessage({ copy: true });
  }
  #awaitQuiet() {
    if (!this.ready || this.#quietTimer !== undefined || this.#pendingPages < restPagesMax)
      return;
    const commits = this.#commits;
    this.#quietTimer = setTimeout(() => {
      this.#quietTimer = undefined;
      const isQuiet = this.#isIdle && this.#commits === commits && this.#restart === "no" && !this.#copying;
      if (!isQuiet)
        this.#awaitQuiet();
      else if (this.#canCopy) {
        this.#tidying = true;
        this.#copy();
      }
    }, quietMs);
    this.#quietTimer.unref();
  }
  #sendRestart() {
    if (this.#restart !== "due" || this.#underWay.length > 0 || this.#copying || this.#syncs > 0 || this.#failed)
      return;
    this.#restart = "under way";
    this.#toWriter({ checkpoint: true });
  }
  #syncFile(then) {
    if (this.#file < 0) {
      then();
      return;
    }
    this.#syncs++;
    fdatasync(this.#file, (error) => {
      this.#syncs--;
      if (error !== null)
        this.#fail({ cause: `sync of cubby.db: ${error.message}`, atOnce: true });
      else
        then();
      this.#noteRest();
    });
  }
  #endCopy() {
    this.#copying = false;
    if (this.#tidying && this.#isIdle && this.ready)
      this.#restart = "due";
    this.#tidying = false;
    this.#sendRestart();
    this.#noteRest();
  }
  async#startWriter() {
    const writer = new Worker(new URL("./writer-thread.js", import.meta.url).href);
    this.#writer = writer;
    try {
      await new Promise((resolve, reject) => {
        writer.onmessage = (event) => {
          const message = event.data;
          if ("outcomes" in message) {
            this.#onLogState(message.log, message.pending);
            if (message.reopened)
              this.#syncFile(() => this.#sendRestart());
            this.#settle(decodeOutcomes(message.outcomes));
            if (message.failure !== undefined)
              this.#fail({ cause: message.failure, atOnce: false });
          } else if ("checkpointed" in message) {
            this.#restart = "no";
            this.#pendingPages = message.pending;
            if (message.fault !== undefined)
              this.#onCheckpointFault(message.fault);
            this.#noteCommit([]);
            this.#handOver();
            this.#noteRest();
          } else if ("refused" in message)
            reject(new Error(message.refused));
          else if ("opened" in message) {
            writer.onerror = (event) => this.#onWriterLost(event.message);
            resolve();
          }
        };
        writer.onerror = (event) => reject(new Error(event.message));
        this.#toWriter({ open: this.#options.path, faults: this.#options.faults });
      });
    } catch (error) {
      writer.terminate();
      throw error;
    }
  }
  #onWriterLost(cause) {
    if (this.#lost)
      return;
    this.#lost = true;
    this.#writer.terminate();
    this.#log("error", "the writer thread failed; starting another", { cause });
    const unknown = new CubbyError2("outcome_unknown", "The writer failed; the write may or may not have been applied.", {
      hint: "Read the record before repeating the request."
    });
    for (const waiting of this.#underWay)
      waiting.reject(unknown);
    this.#underWay = [];
    this.#underWayBytes = 0;
    this.#restart = "no";
    while (!this.#queue.empty)
      for (const waiting of this.#queue.take(nothing))
        waiting.reject(unavailable());
    this.#noteRest();
    this.#restartWriter();
  }
  async#restartWriter() {
    while (!this.#closed) {
      try {
        await this.#startWriter();
        this.#syncFile(() => {
          this.#lost = false;
        });
        return;
      } catch (error) {
        this.#log("error", "the writer thread could not be started", { cause: String(error) });
        await Bun.sleep(restartPauseMs);
      }
    }
  }
  async#restartCheckpointer() {
    try {
      await this.#startCheckpointer();
      this.#syncFile(() => {
        this.#canCopy = true;
      });
    } catch (error) {
      this.#log("error", "the checkpoint thread could not be started", { cause: String(error) });
    }
  }
  async#startCheckpointer() {
    const checkpointer = new Worker(new URL("./checkpoint-thread.js", import.meta.url).href);
    this.#checkpointer = checkpointer;
    await new Promise((resolve, reject) => {
      checkpointer.onmessage = (event) => {
        const message = event.data;
        if ("opened" in message)
          resolve();
        if (!("copied" in message))
          return;
        if (message.fault !== undefined)
          this.#onCheckpointFault(message.fault);
        if (this.#tidying || this.#logPages >= restartAtPages)
          this.#syncFile(() => this.#endCopy());
        else
          this.#endCopy();
      };
      checkpointer.onerror = (event) => {
        checkpointer.terminate();
        this.#log("error", "the checkpoint thread failed; starting another", { cause: event.message });
        reject(new Error(event.message));
        this.#canCopy = false;
        this.#endCopy();
        if (!this.#closed)
          setTimeout(() => void this.#restartCheckpointer(), restartPauseMs).unref();
      };
      const { path: open, faults } = this.#options;
      checkpointer.postMessage({ open, faults });
    });
  }
}
var guard = (call) => {
  try {
    call();
  } catch {}
};
var endThread = (thread) => new Promise((resolve) => {
  const end = () => {
    clearTimeout(timer);
    thread.terminate();
    resolve();
  };
  const timer = setTimeout(end, endMsMax);
  thread.onmessage = (event) => {
    if ("closed" in event.data)
      end();
  };
  thread.onerror = end;
  thread.postMessage({ close: true });
});

// src/engines/sqlite/engine.ts
var readCacheKib = 32768;
var mapBytesMax = 1024 * 1024 * 1024;
var drainMsMax = 2000;
var logToOperator = (_, message, fields = {}) => {
  const shown = Object.entries(fields).map(([name, value]) => `${name}: ${value}`);
  writeSync2(2, `cubby: ${[message, ...shown].join("; ")}
`);
};
var openSqliteEngine = async (options) => {
  const { dataDir, role = "owner", noMmap = false, log = () => {}, faults } = options;
  const path = join3(dataDir, "cubby.db");
  const damage = new Damage(path, log);
  const open = (writer, lock) => {
    const db = new Connection(path, readCacheKib);
    if (role !== "guest" && !noMmap)
      db.run(`PRAGMA mmap_size = ${mapBytesMax}`);
    return new SqliteEngine({ db, writer, role, dataDir, lock, damage, log });
  };
  if (role === "worker")
    return open(new WorkerWriter(options.channel, damage));
  makeDataDir(dataDir);
  const isOwner = role === "owner";
  const lock = isOwner ? holdStore(dataDir) : undefined;
  const onDiskFailure = async ({ cause, atOnce }) => {
    noteDiskFailure(dataDir, cause, options.log ?? logToOperator);
    if (!atOnce)
      await Promise.race([Promise.resolve(options.drain?.()).catch(() => {}), Bun.sleep(drainMsMax)]);
    endProcess(1);
  };
  try {
    if (isOwner) {
      warnOfOpenDirectory(dataDir, log);
      await recoverMarked(dataDir, options.log ?? logToOperator);
    } else
      refuseMarked(dataDir);
    prepareStore(path);
    return open(await WriterPort.open({ path, log, checkpoints: isOwner, onDiskFailure, faults }), lock);
  } catch (error) {
    lock?.release();
    throw error;
  }
};

class SqliteEngine {
  description;
  #db;
  #writer;
  #role;
  #dataDir;
  #lock;
  #damage;
  #watch;
  #snapshot;
  #registry;
  #scanner;
  #record;
  constructor({ db, writer, role, dataDir, lock, damage, log }) {
    this.#db = db;
    this.#writer = writer;
    this.#role = role;
    this.#dataDir = dataDir;
    this.#lock = lock;
    this.#damage = damage;
    db.run("PRAGMA query_only = ON");
    this.#snapshot = new Snapshot(db, role === "owner");
    writer.onCommit = (commands) => {
      this.#snapshot.noteCommit();
      if (commands.some(takesAway))
        this.#registry.forgetEpoch();
    };
    writer.onDamage = (cause) => damage.note(cause);
    this.#registry = new RegistryCache(db, this.#snapshot, role === "guest" ? 0 : registryLeaseMs);
    this.#scanner = new Scanner(db);
    this.#record = db.prepare(`SELECT data, ttl, updated_at FROM records
       WHERE table_id = ?1 AND hash_key = CAST(?2 AS BLOB) AND range_key = CAST(?3 AS BLOB)`);
    this.#watch = role === "guest" ? undefined : new FileWatch(db.path, log);
    this.description = `sqlite ${db.prepare("SELECT sqlite_version() AS v").get().v}`;
  }
  #all(sql, ...values) {
    try {
      this.#snapshot.renew();
      return this.#db.prepare(sql).all(...values);
    } catch (error) {
      throw this.#damage.explain(error);
    }
  }
  #epoch() {
    try {
      return this.#registry.epoch();
    } catch (error) {
      throw this.#damage.explain(error);
    }
  }
  get #port() {
    this.#watch?.hold();
    return this.#writer;
  }
  #fence(writer, table) {
    const stamp = writer.apiKey?.stamp ?? this.#epoch();
    return {
      stamp: table === undefined ? stamp : Math.min(stamp, table.stamp),
      keySeq: writer.apiKey?.seq ?? null,
      tableId: table?.id ?? null
    };
  }
  findApiKey(text) {
    this.#watch?.hold();
    try {
      return this.#registry.findApiKey(text);
    } catch (error) {
      throw this.#damage.explain(error);
    }
  }
  createApiKey(writer, key, nowMs) {
    const { orgId } = writer;
    return this.#port.submit(orgId, 0, {
      kind: "createApiKey",
      fence: this.#fence(writer),
      nowMs,
      orgId,
      key
    });
  }
  listApiKeys(orgId, beforeSeq, limit) {
    const stamp = this.#epoch();
    return this.#all(`SELECT ${keyColumns} FROM api_keys WHERE org_id = ?1 AND seq < ?2 ORDER BY seq DESC LIMIT ?3`, ...[orgId, beforeSeq ?? Number.MAX_SAFE_INTEGER, limit]).map((row) => toApiKey(row, stamp));
  }
  async revokeApiKey(writer, id, nowMs) {
    const { orgId } = writer;
    const command = { kind: "revokeApiKey", fence: this.#fence(writer), nowMs, orgId, id };
    const revoked = await this.#port.submit(orgId, 0, command);
    if (this.#role === "guest")
      await Bun.sleep(registryLeaseMs + leaseMarginMs);
    return revoked;
  }
  recordKeyUse(uses) {
    return this.#port.submitUpkeep({ kind: "recordKeyUse", uses });
  }
  createOrganization(name, keys, nowMs) {
    return this.#port.submitUpkeep({
      kind: "createOrganization",
      nowMs,
      name,
      keys,
      onlyIfFirst: false
    });
  }
  bootstrap(name, keys, nowMs) {
    return this.#port.submitUpkeep({
      kind: "createOrganization",
      nowMs,
      name,
      keys,
      onlyIfFirst: true
    });
  }
  findOrganization(name) {
    return this.#all("SELECT id, name, created_at FROM organizations WHERE name = ?1", name).map(toOrganization)[0];
  }
  listOrganizations() {
    return this.#all("SELECT id, name, created_at FROM organizations ORDER BY name").map(toOrganization);
  }
  findTable(orgId, db, name) {
    try {
      return this.#registry.findTable(orgId, db, name);
    } catch (error) {
      throw this.#damage.explain(error);
    }
  }
  findDeletedTable(orgId, db, name, nowMs) {
    const stamp = this.#epoch();
    return this.#all(`SELECT ${tableColumns} FROM tables
       WHERE org_id = ?1 AND db = ?2 AND name = ?3 AND deleted_at > ?4 AND purging = 0 ORDER BY deleted_at DESC LIMIT 1`, ...[orgId, db, name, nowMs - recoveryMs]).map((row) => toTable(row, stamp))[0];
  }
  createTable(writer, db, name, indices, nowMs) {
    const { orgId } = writer;
    const command = { kind: "createTable", fence: this.#fence(writer), nowMs, orgId, db, name, indices };
    return this.#port.submit(orgId, 0, command);
  }
  deleteTable(writer, db, name, nowMs) {
    const { orgId } = writer;
    return this.#port.submit(orgId, 0, {
      kind: "deleteTable",
      fence: this.#fence(writer),
      nowMs,
      orgId,
      db,
      name
    });
  }
  restoreTable(writer, db, name, deletedAtMs, nowMs) {
    const { orgId } = writer;
    const command = { kind: "restoreTable", fence: this.#fence(writer), nowMs, orgId, db, name, deletedAtMs };
    return this.#port.submit(orgId, 0, command);
  }
  listTables({ orgId, db, after, limit }) {
    const stamp = this.#epoch();
    return this.#all(`SELECT ${tableColumns} FROM tables
       WHERE org_id = ?1 AND db = ?2 AND name > ?3 AND deleted_at IS NULL ORDER BY name LIMIT ?4`, ...[orgId, db, after?.name ?? "", limit]).map((row) => toTable(row, stamp));
  }
  listDeletedTables({ orgId, db, after, limit }, nowMs) {
    const stamp = this.#epoch();
    return this.#all(`SELECT ${tableColumns} FROM tables
       WHERE org_id = ?1 AND db = ?2 AND (name, deleted_at) > (?3, ?4) AND deleted_at > ?5 AND purging = 0
       ORDER BY name, deleted_at LIMIT ?6`, ...[orgId, db, after?.name ?? "", after?.deletedAtMs ?? 0, nowMs - recoveryMs, limit]).map((row) => toTable(row, stamp));
  }
  listDatabases(orgId, after, limit) {
    const next = this.#db.prepare("SELECT db FROM tables WHERE org_id = ?1 AND db > ?2 AND deleted_at IS NULL ORDER BY db LIMIT 1");
    const names = [];
    let last = after ?? "";
    try {
      this.#snapshot.renew();
      while (names.length < limit) {
        const row = next.get(orgId, last);
        if (row === null)
          break;
        last = row.db;
        names.push(last);
      }
    } catch (error) {
      throw this.#damage.explain(error);
    }
    return names;
  }
  getRecord(table, key, nowMs) {
    try {
      this.#snapshot.refresh();
      const row = this.#record.get(table.id, key.hashKey, key.rangeKey);
      if (row === null || isExpired(row.ttl, nowMs))
        return;
      const { hashKey, rangeKey } = key;
      return { hashKey, rangeKey, data: row.data, ttlSeconds: row.ttl, updatedAtMs: row.updated_at };
    } catch (error) {
      throw this.#damage.explain(error);
    }
  }
  scan(table, scan, rowsMax, nowMs) {
    try {
      this.#snapshot.refresh();
      return this.#scanner.scan(table, scan, rowsMax, nowMs);
    } catch (error) {
      throw this.#damage.explain(error);
    }
  }
  write(writer, table, operations, nowMs) {
    if (this.#role === "guest")
      throw new Error("a guest of the store does not write records");
    let bytes = 0;
    for (const operation of operations)
      if (operation.op === "put")
        bytes += operation.data.length;
    const command = { kind: "write", fence: this.#fence(writer, table), nowMs, operations };
    return this.#port.submit(writer.orgId, bytes, command);
  }
  sweepExpired(nowMs, rowsMax) {
    return this.#port.submitUpkeep({ kind: "sweepExpired", nowMs, rowsMax });
  }
  purgeTables(nowMs, rowsMax) {
    return this.#port.submitUpkeep({ kind: "purgeTables", nowMs, rowsMax });
  }
  async openDump() {
    return openDump(this.#db.path);
  }
  async load(rows) {
    if (this.#role === "guest")
      throw new Error("a guest of the store does not write records");
    await this.#port.submitUpkeep({ kind: "load", rows });
  }
  lastRecordId(tableId) {
    return this.#all("SELECT max(id) AS id FROM records WHERE table_id = ?1", tableId)[0].id ?? 0;
  }
  check(noteTable) {
    return checkStore(this.#db, noteTable);
  }
  ready() {
    if (this.#damage.cause !== undefined || this.#watch?.refusal !== undefined)
      return false;
    return this.#writer.ready && this.#epoch() > 0;
  }
  serveWorker(channel) {
    serveWorker(this.#writer, channel, { damage: this.#damage, refusal: () => this.#watch?.refusal });
  }
  async close() {
    this.#watch?.stop();
    await this.#writer.close();
    this.#snapshot.close();
    if (this.#role === "owner")
      this.#db.close();
    else
      closeUnlessMarked(this.#dataDir, () => this.#db.close());
    this.#lock?.release();
  }
}

// src/engines/open-engine.ts
var openEngine = async (location, options) => {
  const { store } = location;
  if (store !== undefined) {
    await Promise.resolve().then(() => init_engine());
    const { mustExist, poolSize, statementMsMax, sweepClock, leaseMs, log } = options;
    return openPostgresEngine({ url: store, mustExist, poolSize, statementMsMax, sweepClock, leaseMs, log });
  }
  const dataDir = resolve2(location.data);
  if (options.mustExist && !existsSync2(join4(dataDir, "cubby.db")))
    throw new StoreRefused(`there is no store in ${dataDir}`);
  const { role, noMmap, log, drain, faults } = options;
  return openSqliteEngine({ dataDir, role, noMmap, log, drain, faults });
};
var describeLocation = ({ data, store }) => {
  if (store === undefined)
    return resolve2(data);
  const url = new URL(store);
  return `${url.protocol}//${url.host}${url.pathname}`;
};

// src/cli/clock.ts
init_limits();
import { readFileSync as readFileSync3 } from "fs";
var openClock = (env) => {
  const { CUBBY_TEST_CLOCK: file, CUBBY_TEST_LEASE_MS: lease } = env;
  if ((file ?? lease) !== undefined && env.NODE_ENV !== "test") {
    throw new CommandFailed("CUBBY_TEST_CLOCK and CUBBY_TEST_LEASE_MS are for tests only: they need NODE_ENV=test");
  }
  const leaseMs = lease === undefined ? undefined : Number(lease);
  if (file === undefined) {
    const periods = { sweepEveryMs: 60000, leapHoldMs: clockLeapHoldMs, keyUseEveryMs: lastUsedFlushMs };
    return { now: Date.now, isMoved: false, ...periods, leaseMs };
  }
  const offsetMs = () => {
    try {
      return Number(readFileSync3(file, "utf8")) || 0;
    } catch {
      return 0;
    }
  };
  const periods = { sweepEveryMs: 200, leapHoldMs: 0, keyUseEveryMs: 200 };
  return { now: () => Date.now() + offsetMs(), isMoved: true, ...periods, leaseMs };
};
var testFaults = (env) => {
  const file = env.CUBBY_TEST_FAULTS;
  if (file !== undefined && env.NODE_ENV !== "test") {
    throw new CommandFailed("CUBBY_TEST_FAULTS is for tests only: it needs NODE_ENV=test");
  }
  return file;
};

// src/cli/with-store.ts
var withStore = async (args, options, use) => {
  const engine = await openEngine(storeLocation(args), {
    role: "guest",
    leaseMs: openClock(process.env).leaseMs,
    ...options
  });
  try {
    return await use(engine);
  } finally {
    await engine.close();
  }
};

// src/cli/backup.ts
var backupCreateCommand = {
  name: "backup create",
  positionals: ["FILE"],
  summary: "copy the store into one file, also while the server runs",
  details: `The copy is one consistent moment of the whole store, every organization in it. It is checked and synced
before it takes its name. A file that exists is not overwritten. API keys are in it only as hashes.`,
  flags: { ...storeFlags, json: jsonFlag },
  async run(args) {
    refuseOtherEngines(args, "use pg_dump (docs/engines.md)");
    const file = resolve3(args.positionals[0]);
    if (existsSync3(file))
      throw new CommandFailed(`${file} exists and is not overwritten`);
    const contents = await withStore(args, { mustExist: true }, () => copyStore(resolve3(args.text("data")), file));
    report(args, { file, bytes: statSync3(file).size, ...contents }, `wrote ${file}`);
    return 0;
  }
};
var backupRestoreCommand = {
  name: "backup restore",
  positionals: ["FILE"],
  summary: "make a new data directory of a backup",
  details: `The directory must hold no store: nothing is overwritten. The copy is checked before it becomes the store.
API keys are as they were: revoke again what was revoked after the backup.`,
  flags: { ...storeFlags, json: jsonFlag },
  async run(args) {
    refuseOtherEngines(args, "use pg_restore (docs/engines.md)");
    const file = resolve3(args.positionals[0]);
    const dataDir = resolve3(args.text("data"));
    if (!existsSync3(file))
      throw new CommandFailed(`there is no file ${file}`);
    refuseExistingStore(dataDir);
    const contents = await restoreStore(file, dataDir);
    report(args, { data: dataDir, bytes: statSync3(join5(dataDir, "cubby.db")).size, ...contents }, `restored ${dataDir}`);
    return 0;
  }
};
var refuseOtherEngines = (args, instead) => {
  if (storeLocation(args).store === undefined)
    return;
  throw new CommandFailed(`backup is for the embedded engine; with --store ${instead}`);
};
var report = (args, facts, what) => {
  if (args.flag("json")) {
    printJson(facts);
    return;
  }
  const { organizations, tables, records, bytes } = facts;
  const counts = [showCount(organizations, "organization"), showCount(tables, "table"), showCount(records)].join(", ");
  printLine(`${what}: ${counts}, ${(bytes / 1e6).toFixed(1)} MB, verified`);
};
var temporaryOf = (file) => `${file}.tmp`;
var makeExclusive = (temporary) => {
  try {
    closeSync3(openSync4(temporary, "wx", 384));
  } catch (error) {
    if (error.code !== "EEXIST")
      throw cannotWrite(temporary, error);
    throw new CommandFailed(`${temporary} exists: another backup is being made, or one was interrupted; then remove it`);
  }
};
var cannotWrite = (file, error) => new CommandFailed(`${file} cannot be written: ${error.message}`);
var sync = (path) => {
  const descriptor = openSync4(path, "r");
  try {
    fsyncSync3(descriptor);
  } finally {
    closeSync3(descriptor);
  }
};
var moveIntoPlace = (temporary, file) => {
  sync(temporary);
  renameSync(temporary, file);
  sync(dirname3(file));
};
var removeTemporary = (temporary) => {
  for (const end of ["", "-wal", "-shm", "-journal"])
    rmSync2(temporary + end, { force: true });
};
var copyStore = async (dataDir, file) => {
  const temporary = temporaryOf(file);
  makeExclusive(temporary);
  try {
    const store = new Connection(join5(dataDir, "cubby.db"), 16384);
    try {
      store.run(`VACUUM INTO '${temporary.replaceAll("'", "''")}'`);
    } catch (error) {
      throw isDamage(error) ? damagedStore(store.path, error) : cannotWrite(file, error);
    } finally {
      store.close();
    }
    const contents = await verifyCopy(temporary, `the copy of ${join5(dataDir, "cubby.db")}`);
    if (existsSync3(file))
      throw new CommandFailed(`${file} exists and is not overwritten`);
    moveIntoPlace(temporary, file);
    return contents;
  } catch (error) {
    removeTemporary(temporary);
    throw error;
  }
};
var verifyCopy = async (path, what) => {
  const db = openCopy(path, what);
  try {
    const version = db.prepare("PRAGMA user_version").get().user_version;
    if (version === 0)
      throw new CommandFailed(`${what} is not a backup of Cubby`);
    if (version > schemaVersion) {
      throw new CommandFailed(`${what} has version ${version}; this Cubby knows versions up to ${schemaVersion}: use a newer one`);
    }
    for await (const finding of checkStore(db))
      throw new CommandFailed(`${what} is not sound: ${finding}`);
    const count = (from) => db.prepare(`SELECT count(*) AS n FROM ${from}`).get().n;
    return {
      organizations: count("organizations"),
      tables: count("tables"),
      records: count("records")
    };
  } catch (error) {
    throw asFinding(error, what);
  } finally {
    db.close();
  }
};
var openCopy = (path, what) => {
  try {
    return new Connection(path, 16384);
  } catch (error) {
    throw asFinding(error, what);
  }
};
var asFinding = (error, what) => {
  const { code, message } = error;
  if (code?.startsWith("SQLITE_NOTADB"))
    return new CommandFailed(`${what} is not a backup of Cubby`);
  return code?.startsWith("SQLITE_") ? new CommandFailed(`${what} is damaged: ${message}`) : error;
};
var refuseExistingStore = (dataDir) => {
  for (const name of ["cubby.db", "cubby.db-wal", "cubby.db-journal"]) {
    if (existsSync3(join5(dataDir, name)))
      throw new CommandFailed(`${dataDir} has a store (${name}); give another --data`);
  }
};
var restoreStore = async (file, dataDir) => {
  const isNew = !existsSync3(dataDir);
  try {
    makeDataDir(dataDir);
  } catch (error) {
    throw cannotWrite(dataDir, error);
  }
  const temporary = temporaryOf(join5(dataDir, "cubby.db"));
  let made = false;
  const lock = holdStore(dataDir);
  try {
    makeExclusive(temporary);
    made = true;
    copy(file, temporary);
    const contents = await verifyCopy(temporary, file);
    refuseExistingStore(dataDir);
    moveIntoPlace(temporary, join5(dataDir, "cubby.db"));
    lock.release();
    return contents;
  } catch (error) {
    if (made)
      removeTemporary(temporary);
    lock.release();
    if (isNew)
      removeNewDirectory(dataDir);
    throw error;
  }
};
var copy = (file, temporary) => {
  try {
    copyFileSync(file, temporary, constants.COPYFILE_FICLONE);
    chmodSync(temporary, 384);
  } catch (error) {
    throw new CommandFailed(`${file} cannot be copied: ${error.message}`);
  }
};
var removeNewDirectory = (dataDir) => {
  rmSync2(join5(dataDir, "serve.lock"), { force: true });
  try {
    rmdirSync(dataDir);
  } catch {}
};

// src/operations/copy-store.ts
var rowsPerLoad = 500;
async function* inChunks(rows) {
  let chunk = [];
  for await (const row of rows) {
    chunk.push(row);
    if (chunk.length < rowsPerLoad)
      continue;
    yield chunk;
    chunk = [];
  }
  if (chunk.length > 0)
    yield chunk;
}
var copyStore2 = async (from, to, onProgress) => {
  await to.load({ organizations: await from.organizations() });
  for await (const apiKeys of inChunks(from.apiKeys()))
    await to.load({ apiKeys });
  for await (const tables of inChunks(from.tables()))
    await to.load({ tables });
  let copied = 0;
  for await (const table of from.tables()) {
    for await (const records of from.records(table.id, await to.lastRecordId(table.id))) {
      await to.load({ records });
      copied += records.length;
      onProgress(copied);
    }
  }
  return copied;
};
async function* records(dump, tableId) {
  for await (const chunk of dump.records(tableId, 0))
    yield* chunk;
}
var firstDifference = async (ours, theirs, shown) => {
  const others = theirs[Symbol.asyncIterator]();
  for await (const our of ours) {
    const { value: their, done } = await others.next();
    if (done || shown(our) !== shown(their))
      return [our, done ? undefined : their];
  }
  const { value: extra, done } = await others.next();
  return done ? undefined : [undefined, extra];
};
async function* each(rows) {
  yield* rows;
}
var shownRow = (row) => JSON.stringify(Object.entries({ ...row, stamp: 0 }).sort());
var shownRecord = ({
  id,
  tableId,
  hashKey,
  rangeKey,
  data,
  ttlSeconds,
  updatedAtMs,
  entries
}) => JSON.stringify([id, tableId, hashKey, rangeKey, data, ttlSeconds, updatedAtMs, entries]);
async function* compareStores(ours, theirs) {
  if (await firstDifference(each(await ours.organizations()), each(await theirs.organizations()), shownRow)) {
    yield "the organizations differ";
  }
  const key = await firstDifference(ours.apiKeys(), theirs.apiKeys(), shownRow);
  if (key !== undefined)
    yield `the API keys differ, first at ${(key[0] ?? key[1]).id}`;
  const table = await firstDifference(ours.tables(), theirs.tables(), shownRow);
  if (table !== undefined)
    yield `the tables differ, first at ${nameOf2(table[0] ?? table[1])}`;
  for await (const { id, db, name } of ours.tables()) {
    const record = await firstDifference(records(ours, id), records(theirs, id), shownRecord);
    if (record !== undefined)
      yield `the records of ${nameOf2({ db, name })} differ, first at ${JSON.stringify((record[0] ?? record[1]).hashKey)}`;
  }
}
var nameOf2 = ({ db, name }) => `${db}/${name}`;

// src/cli/copy.ts
var parsePlace = (args, flag) => {
  const place = args.text(flag);
  if (place === undefined)
    throw new UsageError(`--${flag} is missing; it takes a data directory or a postgres:// URL`);
  return /^[a-z]+:\/\//i.test(place) ? { data: "", store: place } : { data: place, store: undefined };
};
var refuseFilled = async (target, place) => {
  if ((await target.listOrganizations()).length === 0)
    return;
  throw new CommandFailed(`the store at ${describeLocation(place)} is not empty; --resume goes on with a copy that was interrupted`);
};
var copyCommand = {
  name: "copy",
  summary: "copy a whole store into another, embedded or PostgreSQL, either way",
  details: `Organizations, API keys, tables (soft-deleted ones too) and records with their versions and times
come along, from one snapshot of the source, and the two are compared at the end. Keys and cursors go on
working. What is written to the source after the copy has begun is not in it: stop its servers first.`,
  flags: {
    from: { type: "string", value: "PLACE", help: "a data directory or postgres://user:password@host/db" },
    to: { type: "string", value: "PLACE", help: "the same; the store there must be empty" },
    resume: { type: "boolean", help: "go on with an interrupted copy into a store that is not empty" },
    json: jsonFlag
  },
  async run(args) {
    const [from, to] = [parsePlace(args, "from"), parsePlace(args, "to")];
    const progress = new Progress;
    const source = await openEngine(from, { role: "guest", mustExist: true });
    try {
      const target = await openEngine(to, { role: "owner" });
      try {
        if (!args.flag("resume"))
          await refuseFilled(target, to);
        return await copyAndCompare(source, target, progress, args.flag("json"));
      } finally {
        await target.close();
      }
    } finally {
      progress.clear();
      await source.close();
    }
  }
};
var copyAndCompare = async (source, target, progress, json) => {
  const dump = await source.openDump();
  try {
    let all = 0;
    for await (const table of dump.tables())
      all += await dump.countRecords(table.id);
    progress.begin();
    const records = await copyStore2(dump, target, (copied) => progress.show(copied, () => copied / Math.max(1, all)));
    progress.clear();
    const copiedMs = progress.elapsedMs;
    const copy = await target.openDump();
    const differences = [];
    for await (const difference of compareStores(dump, copy))
      differences.push(difference);
    await copy.close();
    if (json)
      printJson({ ok: differences.length === 0, records, differences });
    else {
      printLine(`copied ${showRate(records, copiedMs)}`);
      for (const difference of differences)
        printLine(difference);
      if (differences.length === 0)
        printLine("compared: the two stores are equal");
    }
    return differences.length === 0 ? 0 : 1;
  } finally {
    await dump.close();
  }
};

// src/cli/export-source.ts
init_limits();
init_record_key();

// src/cli/pages.ts
init_json_span();
var splitPage = (text) => {
  const items = [];
  let cursor = null;
  walkObject(text, 0, "", (name, start) => {
    if (name === "items") {
      return walkArray(text, start, (_, itemStart) => {
        const { end } = valueSpan(text, itemStart);
        items.push(text.slice(itemStart, end));
        return end;
      });
    }
    const { end } = valueSpan(text, start);
    if (name === "cursor")
      cursor = JSON.parse(text.slice(start, end));
    return end;
  });
  return { text, items, cursor };
};
async function* queryPages(remote, db, table, query) {
  for (let more = query;; ) {
    const members = Object.entries(more).map(([name, text]) => `"${name}":${text}`);
    const page = splitPage(await remote.request({
      method: "POST",
      path: `/v1/${db}/${table}/query`,
      body: `{${members.join(",")}}`,
      repeatable: true
    }));
    yield page;
    if (page.cursor === null)
      return;
    more = { ...more, cursor: JSON.stringify(page.cursor) };
  }
}
var memberTexts = (text) => {
  const texts = new Map;
  walkObject(text, 0, "", (name, start) => {
    const { end } = valueSpan(text, start);
    texts.set(name, text.slice(start, end));
    return end;
  });
  return texts;
};

// src/cli/remote.ts
init_errors();
var defaultUrl = "http://127.0.0.1:4600";
var remoteFlags = {
  url: { type: "string", value: "URL", help: "where the server is", default: defaultUrl },
  key: { type: "string", value: "APIKEY", help: "an API key; rather set CUBBY_KEY: others can see flags" }
};
var attemptMsMax = 60000;
var delayMsMax = 5000;
var openRemote = (args, attemptsMax = 4) => {
  const url = parseUrl(args.text("url") ?? defaultUrl);
  const key = args.text("key");
  if (key === undefined)
    throw new UsageError("the API key is missing: set CUBBY_KEY or give --key");
  return { url, maskedKey: maskKey(key), request: (call) => request(url, key, call, attemptsMax) };
};
var parseUrl = (text) => {
  const url = URL.parse(text);
  if (url?.protocol !== "http:" && url?.protocol !== "https:") {
    throw new UsageError(`--url is "${text}"; it takes the address of a server, as ${defaultUrl}`);
  }
  return url.href.replace(/\/+$/, "");
};
var maskKey = (key) => `${/^svc_(live|pub)_/.exec(key)?.[0] ?? ""}****${key.slice(-4)}`;
var request = async (url, key, call, attemptsMax) => {
  for (let attempt = 1;; attempt++) {
    const answer = await send(url, key, call);
    if (typeof answer === "string")
      return answer;
    const { error, unanswered, retryAfterMs } = answer;
    const again = unanswered ? call.repeatable : error instanceof CubbyError2 && error.code === "unavailable";
    if (!again || attempt >= attemptsMax)
      throw error;
    await Bun.sleep(Math.max(retryAfterMs, Math.random() * Math.min(delayMsMax, 100 * 2 ** attempt)));
  }
};
var send = async (url, key, call) => {
  const headers = { authorization: `Bearer ${key}`, ...call.headers };
  if (call.body !== undefined)
    headers["content-type"] = "application/json";
  let response;
  let text;
  try {
    response = await fetch(url + call.path, {
      method: call.method,
      headers,
      body: call.body,
      redirect: "error",
      signal: AbortSignal.timeout(attemptMsMax)
    });
    text = await response.text();
  } catch (error) {
    return { error: noAnswer(url, call, error), unanswered: true, retryAfterMs: 0 };
  }
  if (response.ok)
    return text;
  const retryAfterMs = Math.min(delayMsMax, (Number(response.headers.get("retry-after")) || 0) * 1000);
  const error = parseErrorBody(text);
  if (error !== undefined)
    return { error, unanswered: false, retryAfterMs };
  return {
    error: new CommandFailed(`${url} answered ${response.status} without an error body of Cubby; is it a Cubby server?`),
    unanswered: response.status >= 500,
    retryAfterMs
  };
};
var noAnswer = (url, { repeatable }, error) => {
  const refused = /^(ConnectionRefused|ECONNREFUSED)$/.test(String(error.code));
  const reason = refused ? "nothing listens there" : error.message;
  const unknown = repeatable ? "" : "; the change may or may not have been applied";
  return new CommandFailed(`no answer from ${url}: ${reason.replace(/\.$/, "")}${unknown}`);
};
var parseErrorBody = (text) => {
  try {
    const { code, message, field, hint } = JSON.parse(text).error;
    return typeof message === "string" ? new CubbyError2(code, message, { field, hint }) : undefined;
  } catch {
    return;
  }
};

// src/cli/place.ts
var placeFlags = {
  url: { type: "string", value: "URL", help: `the server (${defaultUrl})` },
  key: { type: "string", value: "APIKEY", help: "an API key; rather set CUBBY_KEY: others can see flags" },
  data: { type: "string", value: "DIR", help: "not the server but the store itself, in this data directory" },
  store: { type: "string", value: "URL", help: "or in this database: postgres://user:password@host/db" },
  org: { type: "string", value: "NAME", help: "with --data or --store: the organization (default)" }
};
var variable = (flag) => `CUBBY_${flag.toUpperCase()}`;
var choosePlace = (args, attemptsMax) => {
  const serverFlags = ["url", "key"];
  const storeFlags = ["data", "store"];
  const given = [...serverFlags, ...storeFlags].filter((flag) => args.isGiven(flag));
  const known = given.length > 0 ? given : [...serverFlags, ...storeFlags].filter((flag) => args.text(flag));
  const server = known.find((flag) => serverFlags.includes(flag));
  const store = known.find((flag) => storeFlags.includes(flag));
  if (server !== undefined && store !== undefined) {
    const names = given.length > 0 ? [`--${server}`, `--${store}`] : [variable(server), variable(store)];
    throw new UsageError(`${names[0]} names a server and ${names[1]} a store: give one of them`);
  }
  if (store !== undefined) {
    const location = { data: args.text("data") ?? "", store: args.text("store") };
    if (given.length > 0 && !args.isGiven("store"))
      location.store = undefined;
    return { kind: "store", location, org: args.text("org") ?? "default" };
  }
  if (args.isGiven("org")) {
    throw new UsageError("--org goes with --data or --store; over HTTP the API key names the organization");
  }
  if (args.text("key") === undefined) {
    throw new UsageError("set CUBBY_KEY or give --key for a server, or --data DIR for the store itself");
  }
  return { kind: "server", remote: openRemote(args, attemptsMax) };
};
var requireOrganization = async (engine, name) => {
  const organization = await engine.findOrganization(name);
  if (organization !== undefined)
    return organization;
  throw new CommandFailed(`there is no organization ${name}; see cubby orgs list, or make it: cubby orgs create ${name}`);
};

// src/cli/export-source.ts
var openStoreSource = async (location, org) => {
  const engine = await openEngine(location, { role: "guest", mustExist: true });
  let dump;
  const close = async () => {
    await dump?.close();
    await engine.close();
  };
  try {
    const { id: orgId } = await requireOrganization(engine, org);
    const snapshot = await engine.openDump();
    dump = snapshot;
    const nowMs = openClock(process.env).now();
    return {
      async tables(db) {
        const found = [];
        for await (const table of snapshot.tables()) {
          if (table.orgId === orgId && table.db === db && table.deletedAtMs === null)
            found.push(table);
        }
        found.sort((a, b) => a.name < b.name ? -1 : 1);
        const counts = [];
        for (const { id } of found)
          counts.push(await snapshot.countRecords(id));
        return found.map(({ id, name, indices }, i) => ({
          name,
          indices,
          count: counts[i],
          records: () => liveRecords(snapshot, id, nowMs)
        }));
      },
      close
    };
  } catch (error) {
    await close();
    throw error;
  }
};
async function* liveRecords(dump, tableId, nowMs) {
  for await (const records of dump.records(tableId, 0)) {
    yield records.filter(({ ttlSeconds }) => !isExpired(ttlSeconds, nowMs)).map(({ hashKey, rangeKey, data, ttlSeconds, updatedAtMs }) => ({
      hashKey: JSON.stringify(hashKey),
      rangeKey: rangeKey === emptySlot ? undefined : JSON.stringify(rangeKey),
      data,
      ttl: ttlSeconds ?? undefined,
      updatedAt: updatedAtMs
    }));
  }
}
var openServerSource = (remote) => ({
  tables: (db) => listTables2(remote, db),
  async close() {}
});
var listTables2 = async (remote, db) => {
  const tables = [];
  for (let cursor = "";; ) {
    const after = cursor === "" ? "" : `&cursor=${encodeURIComponent(cursor)}`;
    const path = `/v1/${db}?limit=${pageRowsMax}${after}`;
    const page = JSON.parse(await remote.request({ method: "GET", path, repeatable: true }));
    for (const { table, indices } of page.tables) {
      tables.push({ name: table, indices, count: undefined, records: () => queriedRecords(remote, db, table) });
    }
    if (page.cursor === null)
      return tables;
    cursor = page.cursor;
  }
};
async function* queriedRecords(remote, db, table) {
  const query = { index: '"t"', ascending: "true", limit: String(pageRowsMax) };
  for await (const page of queryPages(remote, db, table, query)) {
    yield page.items.map((item) => {
      const texts = memberTexts(item);
      return {
        hashKey: texts.get("hashKey"),
        rangeKey: texts.get("rangeKey"),
        data: texts.get("data"),
        ttl: texts.get("ttl"),
        updatedAt: texts.get("updatedAt")
      };
    });
  }
}

// src/cli/ndjson.ts
init_envelope();
init_errors();
init_indices();
init_json_scan();
init_json_span();
init_limits();
init_names();
init_record_data();
init_steps();
var minifyJson = (text) => {
  let out = "";
  let from = 0;
  for (let at = 0;at < text.length; ) {
    const code = text.charCodeAt(at);
    if (code === 34)
      at = valueSpan(text, at).end;
    else if (code <= 32) {
      out += text.slice(from, at);
      from = ++at;
    } else
      at++;
  }
  return from === 0 ? text : out + text.slice(from);
};
var tableLine = (db, table, indices) => `${JSON.stringify({ db, table, indices })}
`;
var recordLines = (db, table) => {
  const start = `{"db":${JSON.stringify(db)},"table":${JSON.stringify(table)},"hashKey":`;
  return ({ hashKey, rangeKey, data, ttl, updatedAt }) => {
    const range = rangeKey === undefined ? "" : `,"rangeKey":${rangeKey}`;
    const expiry = ttl === undefined ? "" : `,"ttl":${ttl}`;
    return `${start}${hashKey}${range},"data":${minifyJson(data)}${expiry},"updatedAt":${updatedAt}}
`;
  };
};
var placeFields = ["db", "table"];
var parseLine = (text) => {
  checkJson(text, "the line");
  const { value, data } = runThrough(readEnvelope(text, 0, ""));
  const members = parseObject(value, "the line");
  const db = members.db === undefined ? undefined : parseName(members.db, "db");
  const table = members.table === undefined ? undefined : parseName(members.table, "table");
  if (Object.hasOwn(members, "indices") && !Object.hasOwn(members, "hashKey")) {
    refuseUnknownMembers(members, [...placeFields, "indices"]);
    return { kind: "table", db, table, indices: parseIndices(outline(text).indices) };
  }
  const record = parseRecordToPut(members, text, data, undefined, "", [...placeFields, "updatedAt"]);
  return { kind: "record", db, table, record, updatedAtMs: parseUpdatedAt(members.updatedAt) };
};
var updatedAtMax = ttlSecondsMax * 1000;
var parseUpdatedAt = (value) => {
  if (value === undefined)
    return;
  if (typeof value === "number" && Number.isInteger(value) && value >= 0 && value <= updatedAtMax)
    return value;
  throw new CubbyError2("invalid_request", `updatedAt is ${describe(value)}; it takes epoch milliseconds, an integer from 0 to ${updatedAtMax}.`, { field: "updatedAt", hint: "Leave it out: the record then counts as written now." });
};

// src/cli/table-flags.ts
init_names();
var dbFlag = { type: "string", value: "NAME", help: "the database" };
var tableFlag = { type: "string", value: "NAME", help: "the table" };
var requireName = (args, flag) => {
  const name = optionalName(args, flag);
  if (name === undefined)
    throw new UsageError(`--${flag} NAME is missing`);
  return name;
};
var optionalName = (args, flag) => {
  const name = args.text(flag);
  return name === undefined ? undefined : checkName(name, `--${flag}`);
};
var checkName = (name, what) => orUsageError(() => parseName(name, what));

// src/cli/write-lines.ts
import { once } from "events";
import { closeSync as closeSync4, createWriteStream, fchmodSync, fsyncSync as fsyncSync4, openSync as openSync5, renameSync as renameSync2, rmSync as rmSync3, statSync as statSync4 } from "fs";
import { dirname as dirname4, resolve as resolve4 } from "path";
import { pipeline } from "stream/promises";
import { createGzip } from "zlib";
var gatherCharacters = 128 * 1024;
var gathered = (put) => {
  let texts = "";
  const flush = async () => {
    const full = texts;
    texts = "";
    if (full !== "")
      await put(full);
  };
  const write = async (text) => {
    texts += text;
    if (texts.length >= gatherCharacters)
      await flush();
  };
  return { write, flush };
};

class OutputClosed extends CommandFailed {
  constructor() {
    super("whoever read the output has gone");
  }
}
var writeToStdout = () => {
  process.stdout.on("error", () => {});
  const { write, flush } = gathered((text) => new Promise((resolve, reject) => {
    process.stdout.write(process.stdout.isTTY ? printableJson(text) : text, (error) => {
      if (error === null || error === undefined)
        resolve();
      else
        reject(error.code === "EPIPE" ? new OutputClosed : error);
    });
  }));
  return { write, end: flush, abandon: () => {} };
};
var writeToFile = (file) => {
  const failed = (error) => new CommandFailed(`${file} cannot be written: ${error.message}`);
  const special = isSpecial(file, failed);
  const path = special ? file : `${file}.partial`;
  const out = special ? createWriteStream(path) : createWriteStream(path, { fd: openPrivate(path, failed) });
  const gzip = file.endsWith(".gz") ? createGzip() : undefined;
  const entry = gzip ?? out;
  const done = gzip === undefined ? once(out, "close") : pipeline(gzip, out);
  let failure;
  done.catch((error) => {
    failure = error;
  });
  const { write, flush } = gathered(async (text) => {
    if (failure !== undefined)
      throw failed(failure);
    if (!entry.write(text))
      await Promise.race([once(entry, "drain"), done]).catch(() => {});
  });
  return {
    write,
    async end() {
      await flush();
      entry.end();
      await done.catch(() => {});
      if (failure !== undefined)
        throw failed(failure);
      if (special)
        return;
      const synced = openSync5(path, "r");
      fsyncSync4(synced);
      closeSync4(synced);
      renameSync2(path, file);
      syncDirectory(dirname4(resolve4(file)));
    },
    abandon() {
      out.destroy();
      if (!special)
        rmSync3(path, { force: true });
    }
  };
};
var openPrivate = (path, failed) => {
  try {
    const descriptor = openSync5(path, "w", 384);
    fchmodSync(descriptor, 384);
    return descriptor;
  } catch (error) {
    throw failed(error);
  }
};
var isSpecial = (file, failed) => {
  try {
    return statSync4(file, { throwIfNoEntry: false })?.isFile() === false;
  } catch (error) {
    throw failed(error);
  }
};

// src/cli/export.ts
var exportCommand = {
  name: "export",
  summary: "write the records of a database as lines of JSON",
  details: `One record a line; each table begins with a line that declares it. With --out the file is written
whole or not at all, and packed if its name ends in .gz; without, the lines go to standard output.
With --data or --store it reads one consistent snapshot of the store, also beside a running server.`,
  flags: {
    db: dbFlag,
    table: { ...tableFlag, help: "this table only" },
    out: { type: "string", value: "FILE", help: "write to this file" },
    ...placeFlags,
    json: { ...jsonFlag, help: "with --out: print the summary as JSON" }
  },
  async run(args) {
    const place = choosePlace(args);
    const db = requireName(args, "db");
    const only = args.text("table") === undefined ? undefined : requireName(args, "table");
    const file = args.text("out");
    if (file === undefined && args.flag("json"))
      throw new UsageError("--json goes with --out: the lines are JSON");
    const source = place.kind === "store" ? await openStoreSource(place.location, place.org) : openServerSource(place.remote);
    try {
      const tables = await chooseTables(source, db, only);
      const { records, elapsedMs } = await exportTables(db, tables, file);
      if (args.flag("json"))
        printJson({ tables: tables.length, records, elapsedMs: Math.round(elapsedMs) });
      else {
        const summary = `exported ${showRate(records, elapsedMs)} (${showCount(tables.length, "table")})`;
        if (file === undefined)
          printNote(summary);
        else
          printLine(summary);
      }
      return 0;
    } finally {
      await source.close();
    }
  }
};
var chooseTables = async (source, db, only) => {
  const tables = (await source.tables(db)).filter(({ name }) => only === undefined || name === only);
  if (tables.length > 0)
    return tables;
  throw new CommandFailed(`there is no table ${only === undefined ? "" : `${only} `}in database ${db}`);
};
var exportTables = async (db, tables, file) => {
  const out = file === undefined ? writeToStdout() : writeToFile(file);
  const progress = new Progress;
  const total = tables.reduce((sum, { count }) => sum === undefined || count === undefined ? undefined : sum + count, 0);
  let records = 0;
  try {
    for (const table of tables) {
      await out.write(tableLine(db, table.name, table.indices));
      const toLine = recordLines(db, table.name);
      for await (const chunk of table.records()) {
        await out.write(chunk.map(toLine).join(""));
        records += chunk.length;
        progress.show(records, () => total ? records / total : undefined);
      }
    }
    await out.end();
  } catch (error) {
    out.abandon();
    throw error;
  } finally {
    progress.clear();
  }
  return { records, elapsedMs: progress.elapsedMs };
};

// src/cli/help.ts
var usage = ({ name, positionals = [] }) => ["cubby", name, ...positionals].join(" ");
var columns2 = (rows) => {
  const width = Math.max(...rows.map(([left]) => left.length));
  return rows.map(([left, right]) => `  ${left.padEnd(width)}  ${right}
`).join("");
};
var overview = (commands) => `Cubby, a schemaless document store.

${columns2(commands.map((command) => [usage(command), command.summary]))}
Each takes --help. Every flag can also be set in the environment: --data as CUBBY_DATA, and so on.
`;
var commandHelp = (command) => {
  const flags = Object.entries(command.flags).map(([name, flag]) => [
    flag.value === undefined ? `--${name}` : `--${name} ${flag.value}`,
    flag.default === undefined ? flag.help : `${flag.help} (${flag.default})`
  ]);
  const details = command.details === undefined ? "" : `
${command.details}
`;
  return `${usage(command)} [flags]

  ${command.summary}
${details}
${columns2(flags)}`;
};

// src/cli/import-lines.ts
init_errors();
init_indices();
var openBatchesMax = 64;
var reasonOf2 = ({ message, hint }) => hint === undefined ? message : `${message} ${hint}`;

class LineImporter {
  #target;
  #options;
  #open = new Map;
  #underWay = new Map;
  #keys = new Set;
  #tables = new Map;
  #sources = new Map;
  #failure;
  #line = 0;
  records = 0;
  unchanged = 0;
  expired = 0;
  refused = 0;
  constructor(target, options, earlier) {
    this.#target = target;
    this.#options = options;
    this.records = earlier?.records ?? 0;
    this.unchanged = earlier?.unchanged ?? 0;
    this.expired = earlier?.expired ?? 0;
    this.refused = earlier?.refused ?? 0;
  }
  async take(text) {
    const line = this.#line + 1;
    try {
      await this.#takeLine(text, line);
    } catch (error) {
      if (!(error instanceof LineRefused))
        throw error;
      this.#refuse(line, error.message);
    }
    this.#line = line;
  }
  progress() {
    let line = this.#line;
    for (const batch of [...this.#open.values(), ...this.#underWay.keys()])
      line = Math.min(line, batch.firstLine - 1);
    const { records, unchanged, expired, refused } = this;
    return { line, records, unchanged, expired, refused };
  }
  async finish() {
    for (const key of [...this.#open.keys()])
      await this.#send(key);
    await this.#settle();
  }
  async drain() {
    await Promise.all(this.#underWay.values());
  }
  async#takeLine(text, line) {
    if (line < this.#options.fromLine) {
      if (typeof text !== "string" || !text.includes('"indices"'))
        return;
      const parsed = attempt(() => parseLine(text));
      if (parsed?.kind === "table")
        await this.#declare(parsed, line);
      return;
    }
    if (typeof text !== "string")
      throw new LineRefused(text.fault);
    if (text.trim() === "")
      return;
    const parsed = orRefuse(() => parseLine(text));
    if (parsed.kind === "table")
      await this.#declare(parsed, line);
    else
      await this.#put(parsed, line);
  }
  #address({ db: ownDb, table: ownTable }) {
    const db = this.#options.db ?? ownDb;
    const name = this.#options.table ?? ownTable;
    if (db === undefined)
      throw new LineRefused("the line names no db, and --db is not given.");
    if (name === undefined)
      throw new LineRefused("the line names no table, and --table is not given.");
    const path = `${db}/${name}`;
    const source = `${ownDb ?? db}/${ownTable ?? name}`;
    const first = this.#sources.get(path);
    if (first === undefined)
      this.#sources.set(path, source);
    else if (first !== source) {
      throw new LineRefused(`${path} takes the records of ${first}; those of ${source} would mix with them.`);
    }
    return { db, name, path };
  }
  async#declare(line, number) {
    const { db, name, path } = this.#address(line);
    await this.#sendAndSettle(path);
    const table = await this.#target.createTable(db, name, line.indices);
    const isNew = table.isNew || this.#tables.get(path)?.isNew === true;
    this.#tables.set(path, { ...table, isNew });
    if (JSON.stringify(table.indices) !== JSON.stringify(line.indices)) {
      this.#options.onNote(number, `${path} exists with other indices than declared here; its own hold.`);
    }
  }
  async#put({ record, updatedAtMs, ...line }, number) {
    const { db, name, path } = this.#address(line);
    const table = await this.#findTable(db, name, path);
    if (table === undefined)
      return this.#refuseUnsaid();
    const entries = orRefuse(() => readIndexEntries(table.indices, record));
    if (isExpired(record.ttlSeconds, this.#options.now())) {
      this.expired++;
      return;
    }
    const key = JSON.stringify([path, record.hashKey, record.rangeKey]);
    if (this.#keys.has(key))
      await this.finish();
    let batch = this.#open.get(path);
    if (batch === undefined) {
      if (this.#open.size >= openBatchesMax)
        await this.finish();
      batch = { table, firstLine: number, records: [], bytes: 0 };
      this.#open.set(path, batch);
    }
    this.#keys.add(key);
    batch.records.push({ ...record, line: number, entries, updatedAtMs });
    batch.bytes += record.data.length;
    const { batchRecordsMax, batchBytesMax } = this.#target;
    if (batch.records.length >= batchRecordsMax || batch.bytes >= batchBytesMax)
      await this.#send(path);
  }
  async#findTable(db, name, path) {
    const known = this.#tables.get(path);
    if (known !== undefined)
      return known ?? undefined;
    const found = await this.#target.findTable(db, name);
    this.#tables.set(path, found ?? null);
    if (found !== undefined)
      return found;
    throw new LineRefused(`there is no table ${path}, and no line before declares it; its further lines are refused unsaid. ` + `Create it: cubby table create ${name} --db ${db}`);
  }
  async#send(path) {
    const batch = this.#open.get(path);
    if (batch === undefined)
      return;
    this.#open.delete(path);
    this.#underWay.set(batch, this.#write(path, batch));
    while (this.#underWay.size >= this.#target.batchesAtOnceMax) {
      await Promise.race(this.#underWay.values());
      this.#throwFailure();
    }
  }
  async#sendAndSettle(path) {
    await this.#send(path);
    await this.#settle();
  }
  async#settle() {
    await this.drain();
    this.#throwFailure();
  }
  async#write(path, batch) {
    try {
      const { unchanged, refused } = await this.#target.write(batch.table, batch.records);
      this.records += batch.records.length - refused.length;
      this.unchanged += unchanged;
      for (const { line, error } of refused)
        this.#refuse(line, reasonOf2(error));
      for (const { hashKey, rangeKey } of batch.records)
        this.#keys.delete(JSON.stringify([path, hashKey, rangeKey]));
      this.#underWay.delete(batch);
    } catch (error) {
      this.#failure ??= { error };
    }
  }
  #throwFailure() {
    if (this.#failure !== undefined)
      throw this.#failure.error;
  }
  #refuse(line, reason) {
    this.refused++;
    this.#options.onRefused(line, reason);
  }
  #refuseUnsaid() {
    this.refused++;
  }
}

class LineRefused extends Error {
}
var orRefuse = (work) => {
  try {
    return work();
  } catch (error) {
    throw error instanceof CubbyError2 ? new LineRefused(reasonOf2(error)) : error;
  }
};
var attempt = (work) => {
  try {
    return work();
  } catch {
    return;
  }
};

// src/cli/import-state.ts
import { readFileSync as readFileSync4, renameSync as renameSync3, rmSync as rmSync4, statSync as statSync5, writeFileSync } from "fs";
import { resolve as resolve5 } from "path";
class ImportState {
  path;
  #file;
  #into;
  #broken = false;
  constructor(file, into) {
    this.path = `${resolve5(file)}.import-state`;
    const { size, mtimeMs } = statSync5(file);
    this.#file = { bytes: size, modifiedAt: Math.floor(mtimeMs) };
    this.#into = into;
  }
  load() {
    let kept;
    try {
      kept = JSON.parse(readFileSync4(this.path, "utf8"));
    } catch {
      throw new CommandFailed(`there is no earlier import to go on with: ${this.path} is missing or not readable`);
    }
    if (kept.into !== this.#into) {
      throw new CommandFailed(`the earlier import went into ${kept.into}, not into ${this.#into}; start without --resume`);
    }
    if (kept.file.bytes !== this.#file.bytes || kept.file.modifiedAt !== this.#file.modifiedAt) {
      throw new CommandFailed("the file has changed since the earlier import; start without --resume");
    }
    const { line, records, unchanged, expired = 0, refused } = kept;
    return { line, records, unchanged, expired, refused };
  }
  save(progress) {
    if (this.#broken)
      return;
    const kept = { ...progress, file: this.#file, into: this.#into };
    try {
      writeFileSync(`${this.path}.new`, `${JSON.stringify(kept)}
`, { mode: 384 });
      renameSync3(`${this.path}.new`, this.path);
    } catch {
      this.#broken = true;
    }
  }
  get kept() {
    return !this.#broken;
  }
  remove() {
    rmSync4(this.path, { force: true });
  }
}

// src/cli/import-target.ts
init_errors();
init_limits();
init_record_key();
class StoreTarget {
  description;
  batchRecordsMax;
  batchBytesMax = 4 * 1024 * 1024;
  batchesAtOnceMax = 8;
  #engine;
  #orgId;
  #now = openClock(process.env).now;
  constructor(engine, location, org, orgId) {
    this.#engine = engine;
    this.#orgId = orgId;
    this.description = `${describeLocation(location)}, organization ${org}`;
    this.batchRecordsMax = location.store === undefined ? 1000 : batchOperationsMax;
  }
  get #writer() {
    return { orgId: this.#orgId, apiKey: undefined };
  }
  async createTable(db, name, indices) {
    const { table, created } = await this.#engine.createTable(this.#writer, db, name, indices, this.#now());
    return { db, name, indices: table.indices, isNew: created, stored: table };
  }
  async findTable(db, name) {
    const table = await this.#engine.findTable(this.#orgId, db, name);
    return table && { db, name, indices: table.indices, isNew: false, stored: table };
  }
  async write(table, records) {
    const nowMs = this.#now();
    const missing = table.isNew ? records : await this.#missing(table.stored, records, nowMs);
    const operations = missing.map(({ hashKey, rangeKey, data, ttlSeconds, entries, updatedAtMs }) => {
      return { op: "put", hashKey, rangeKey, data, ttlSeconds, entries, updatedAtMs, condition: undefined };
    });
    if (operations.length > 0)
      await this.#engine.write(this.#writer, table.stored, operations, nowMs);
    return { unchanged: records.length - missing.length, refused: [] };
  }
  async#missing(table, records, nowMs) {
    const present = await Promise.all(records.map((record) => record.updatedAtMs === undefined ? undefined : this.#engine.getRecord(table, record, nowMs)));
    return records.filter((record, i) => !isSame(present[i], record));
  }
  close() {
    return this.#engine.close();
  }
}
var isSame = (there, { data, ttlSeconds, updatedAtMs }) => there?.updatedAtMs === updatedAtMs && there?.ttlSeconds === ttlSeconds && (there.data === data || minifyJson(there.data) === minifyJson(data));
var openStoreTarget = async (location, org) => {
  const engine = await openEngine(location, { role: "owner", mustExist: true });
  try {
    return new StoreTarget(engine, location, org, (await requireOrganization(engine, org)).id);
  } catch (error) {
    await engine.close();
    throw error;
  }
};

class ServerTarget {
  description;
  batchRecordsMax = batchOperationsMax;
  batchBytesMax = 4 * 1024 * 1024;
  batchesAtOnceMax = 8;
  #remote;
  constructor(remote) {
    this.#remote = remote;
    this.description = `${remote.url}, key ${remote.maskedKey}`;
  }
  async createTable(db, name, indices) {
    const path = `/v1/${db}/${name}`;
    try {
      await this.#remote.request({ method: "POST", path, body: JSON.stringify({ indices }), repeatable: true });
      return { db, name, indices, isNew: false };
    } catch (error) {
      if (!(error instanceof CubbyError2 && error.code === "table_exists"))
        throw error;
      return await this.findTable(db, name);
    }
  }
  async findTable(db, name) {
    try {
      const text = await this.#remote.request({ method: "GET", path: `/v1/${db}/${name}`, repeatable: true });
      return { db, name, indices: JSON.parse(text).indices, isNew: false };
    } catch (error) {
      if (error instanceof CubbyError2 && error.code === "table_not_found")
        return;
      throw error;
    }
  }
  async write({ db, name }, records) {
    const refused = [];
    for (let left = records;left.length > 0; ) {
      const body = `{"operations":[${left.map(putText).join(",")}]}`;
      try {
        await this.#remote.request({ method: "POST", path: `/v1/${db}/${name}/batch`, body, repeatable: true });
        break;
      } catch (error) {
        const at = failedOperation(error);
        if (at === undefined || left[at] === undefined)
          throw error;
        refused.push({ line: left[at].line, error });
        left = left.filter((_, i) => i !== at);
      }
    }
    return { unchanged: 0, refused };
  }
  async close() {}
}
var putText = ({ hashKey, rangeKey, data, ttlSeconds }) => {
  const range = rangeKey === emptySlot ? "" : `,"rangeKey":${JSON.stringify(rangeKey)}`;
  const ttl = ttlSeconds === null ? "" : `,"ttl":${ttlSeconds}`;
  return `{"op":"put","hashKey":${JSON.stringify(hashKey)}${range},"data":${data}${ttl}}`;
};
var failedOperation = (error) => {
  const [, position] = error instanceof CubbyError2 && /^operations\[(\d+)\]/.exec(error.field ?? "") || [];
  return position === undefined ? undefined : Number(position);
};
var openServerTarget = (remote) => new ServerTarget(remote);

// src/cli/read-lines.ts
init_limits();
import { createReadStream, statSync as statSync6 } from "fs";
import { Readable } from "stream";
import { createGunzip } from "zlib";
var lineBytesMax = bodyBytesMax;
var readLines = (file) => {
  const bytesTotal = file === "-" ? undefined : fileSize(file);
  let input;
  let bytesRead = 0;
  let stopped = false;
  const count = async function* () {
    input = file === "-" ? process.stdin : createReadStream(file, { highWaterMark: 256 * 1024 });
    for await (const chunk of input) {
      bytesRead += chunk.length;
      yield chunk;
    }
  };
  return {
    async* blocks() {
      try {
        yield* splitLines(await unpack(count()));
      } catch (error) {
        if (!stopped)
          throw readFailure(file, error);
      }
    },
    fraction: () => bytesTotal === undefined ? undefined : bytesTotal === 0 ? 1 : bytesRead / bytesTotal,
    stop: () => {
      stopped = true;
      input?.destroy();
    }
  };
};
var fileSize = (file) => {
  try {
    const stat = statSync6(file);
    if (stat.isDirectory())
      throw new CommandFailed(`${file} is a directory`);
    return stat.isFile() ? stat.size : undefined;
  } catch (error) {
    throw readFailure(file, error);
  }
};
var readFailure = (file, error) => {
  if (error instanceof CommandFailed)
    return error;
  const name = file === "-" ? "standard input" : file;
  if (error.code === "ENOENT")
    return new CommandFailed(`there is no file ${file}`);
  if (error.code?.startsWith("Z_"))
    return new CommandFailed(`${name} is damaged or cut short: ${error.message}`);
  return new CommandFailed(`${name} cannot be read: ${error.message}`);
};
var unpack = async (chunks) => {
  const iterator = chunks[Symbol.asyncIterator]();
  let head = Buffer.alloc(0);
  while (head.length < 3) {
    const { value, done } = await iterator.next();
    if (done)
      break;
    head = Buffer.concat([head, value]);
  }
  const whole = async function* () {
    yield head;
    for (;; ) {
      const { value, done } = await iterator.next();
      if (done)
        return;
      yield value;
    }
  };
  if (head[0] !== 31 || head[1] !== 139)
    return whole();
  const source = Readable.from(whole());
  const gunzip = createGunzip({ chunkSize: 256 * 1024 });
  source.on("error", (error) => gunzip.destroy(error));
  return source.pipe(gunzip);
};
var strict = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true });
var decodeLine = (bytes) => {
  try {
    return strict.decode(bytes);
  } catch {
    return { fault: "the line is not valid UTF-8." };
  }
};
var decodeLines = (bytes) => {
  let text;
  try {
    text = strict.decode(bytes);
  } catch {
    const lines = [];
    for (let from = 0;from <= bytes.length; ) {
      const end = bytes.indexOf(10, from);
      lines.push(decodeLine(bytes.subarray(from, end < 0 ? bytes.length : end)));
      from = end < 0 ? bytes.length + 1 : end + 1;
    }
    return lines;
  }
  const lines = text.split(`
`);
  return bytes.length <= lineBytesMax ? lines : lines.map((line) => Buffer.byteLength(line) > lineBytesMax ? tooLong : line);
};
var tooLong = { fault: `the line is longer than ${lineBytesMax} bytes.` };
async function* splitLines(chunks) {
  let rest = [];
  let restBytes = 0;
  let skipping = false;
  let first = true;
  for await (let chunk of chunks) {
    if (first && chunk.length > 0) {
      first = false;
      if (chunk.subarray(0, 3).equals(Buffer.from([239, 187, 191])))
        chunk = chunk.subarray(3);
    }
    if (skipping) {
      const end = chunk.indexOf(10);
      if (end < 0)
        continue;
      skipping = false;
      chunk = chunk.subarray(end + 1);
    }
    const last = chunk.lastIndexOf(10);
    if (last >= 0) {
      yield decodeLines(Buffer.concat([...rest, chunk.subarray(0, last)]));
      rest = [];
      restBytes = 0;
      chunk = chunk.subarray(last + 1);
    }
    rest.push(chunk);
    restBytes += chunk.length;
    if (restBytes > lineBytesMax) {
      yield [tooLong];
      rest = [];
      restBytes = 0;
      skipping = true;
    }
  }
  if (restBytes > 0)
    yield decodeLines(Buffer.concat(rest));
}

// src/cli/import.ts
var saveEveryMs = 1000;
var attemptsMax2 = 14;
var importCommand = {
  name: "import",
  positionals: ["FILE"],
  summary: "put the records of an export, or of other lines of JSON, into tables",
  details: `FILE may be packed with gzip; - is standard input. Tables that are missing are made from the lines that
declare them. A line whose ttl has passed is skipped and counted. A line that is refused is reported and
the rest goes on; the exit code is then 1.
With --data or --store it writes into the store itself and keeps updatedAt; no server may run on the
data directory meanwhile. Over HTTP every record counts as written now.`,
  flags: {
    db: { ...dbFlag, help: "into this database, whatever the lines say" },
    table: { ...tableFlag, help: "into this table, whatever the lines say" },
    strict: { type: "boolean", help: "stop at the first line that is refused" },
    resume: { type: "boolean", help: "go on where an interrupted import of FILE ended" },
    "from-line": { type: "string", value: "N", help: "begin at this line, counted from 1" },
    ...placeFlags,
    json: { ...jsonFlag, help: "print the summary as JSON" }
  },
  async run(args) {
    const file = args.positionals[0];
    const place = choosePlace(args, attemptsMax2);
    const names = { db: optionalName(args, "db"), table: optionalName(args, "table") };
    const begin = parseFromLine(args);
    if (args.flag("resume") && file === "-") {
      throw new UsageError("--resume needs a file; for standard input give --from-line N");
    }
    if (args.flag("resume") && begin > 1)
      throw new UsageError("--resume and --from-line exclude each other");
    const reader = readLines(file);
    const target = place.kind === "store" ? await openStoreTarget(place.location, place.org) : openServerTarget(place.remote);
    try {
      const into = [target.description, ...Object.values(names).filter((name) => name !== undefined)].join(", ");
      const state = file === "-" ? undefined : new ImportState(file, into);
      const earlier = args.flag("resume") ? state.load() : undefined;
      const fromLine = earlier === undefined ? begin : earlier.line + 1;
      const strict = args.flag("strict");
      return await new Import({ file, reader, target, state, earlier, ...names, fromLine, strict }).run(args.flag("json"));
    } finally {
      await target.close();
    }
  }
};
var parseFromLine = (args) => {
  const text = args.text("from-line");
  if (text === undefined)
    return 1;
  const line = Number(text);
  if (/^[0-9]+$/.test(text) && Number.isSafeInteger(line) && line >= 1)
    return line;
  throw new UsageError(`--from-line is "${text}"; it takes the number of a line, from 1`);
};

class Import {
  #job;
  #importer;
  #progress = new Progress;
  #ending = "end of file";
  constructor(job) {
    const { db, table, fromLine } = job;
    const { now } = openClock(process.env);
    const onRefused = (line, reason) => {
      this.#progress.say(`line ${line}: ${reason}`);
      if (job.strict)
        this.#end("strict");
    };
    const onNote = (line, note) => this.#progress.say(`line ${line}: ${note}`);
    this.#job = job;
    this.#importer = new LineImporter(job.target, { db, table, fromLine, now, onRefused, onNote }, job.earlier);
  }
  async run(json) {
    const onSignal = (signal) => this.#end(signal);
    process.once("SIGINT", onSignal).once("SIGTERM", onSignal);
    const saving = setInterval(() => this.#save(), saveEveryMs);
    try {
      await this.#takeLines();
      await this.#importer.finish();
    } catch (error) {
      await this.#importer.drain();
      this.#progress.clear();
      this.#tellHowToGoOn();
      throw error;
    } finally {
      clearInterval(saving);
      process.off("SIGINT", onSignal).off("SIGTERM", onSignal);
      this.#progress.clear();
    }
    if (this.#ending === "end of file")
      this.#job.state?.remove();
    else
      this.#tellHowToGoOn();
    this.#summarize(json);
    if (this.#ending === "SIGINT" || this.#ending === "SIGTERM")
      return this.#ending === "SIGINT" ? 130 : 143;
    return this.#importer.refused === 0 ? 0 : 1;
  }
  #end(ending) {
    if (this.#ending === "end of file")
      this.#ending = ending;
    this.#job.reader.stop();
  }
  async#takeLines() {
    const { reader, fromLine } = this.#job;
    let line = 0;
    for await (const block of reader.blocks()) {
      for (const text of block) {
        if (++line === fromLine && line > 1)
          this.#progress.begin(reader.fraction());
        await this.#importer.take(text);
        if (this.#ending !== "end of file")
          return;
      }
      this.#progress.show(this.#recordsNow(), () => reader.fraction());
    }
  }
  #recordsNow() {
    return this.#importer.records - (this.#job.earlier?.records ?? 0);
  }
  #summarize(json) {
    const { records, unchanged, expired, refused, line } = this.#importer.progress();
    const { elapsedMs } = this.#progress;
    if (json) {
      const complete = this.#ending === "end of file";
      printJson({ complete, lines: line, records, unchanged, expired, refused, elapsedMs: Math.round(elapsedMs) });
      return;
    }
    const { earlier } = this.#job;
    const before = earlier === undefined ? "" : ` (and ${showCount(earlier.records)} before)`;
    const same = unchanged === 0 ? "" : `; ${showCount(unchanged)} were there already`;
    const gone = expired === 0 ? "" : `; ${showCount(expired, "line")} expired`;
    const bad = refused === 0 ? "" : `; ${showCount(refused, "line")} refused`;
    printLine(`imported ${showRate(this.#recordsNow(), elapsedMs)}${before}${same}${gone}${bad}`);
  }
  #save() {
    const progress = this.#importer.progress();
    if (progress.line < this.#job.fromLine)
      return;
    this.#job.state?.save(progress);
    return progress;
  }
  #tellHowToGoOn() {
    const { file, state } = this.#job;
    const progress = this.#save();
    if (progress === undefined)
      return;
    if (this.#ending === "strict") {
      printNote(`stopped at line ${progress.line}; mend it, then go on with --from-line ${progress.line}`);
      return;
    }
    const how = state?.kept === true ? "--resume" : `--from-line ${progress.line + 1}`;
    printNote(`stopped after line ${progress.line} of ${file}; go on with ${how}`);
  }
}

// src/cli/keys.ts
init_api_key();
init_iso_date_time();
init_limits();
init_present();
init_api_keys();
var orgFlag = { type: "string", value: "NAME", help: "the organization" };
var requireFlag = (args, flag, shown) => {
  if (args.text(flag) === undefined)
    throw new UsageError(`${shown} is missing`);
};
var requireOrganization2 = async (engine, args) => {
  const name = args.text("org");
  const organization = await engine.findOrganization(name);
  if (organization === undefined)
    throw new CommandFailed(`there is no organization ${name}; see cubby orgs list`);
  return organization;
};
var asOperator = (organization) => ({ orgId: organization.id, apiKey: undefined });
var parseInstant = (text) => {
  if (text === undefined)
    return;
  const instant = parseIsoDateTime(text) ?? (/^[0-9]+$/.test(text) ? Number(text) : undefined);
  if (instant !== undefined)
    return instant;
  throw new UsageError(`--expires-at is "${text}"; it takes epoch milliseconds or a date-time like 2027-01-01T00:00:00Z`);
};
var keysCreateCommand = {
  name: "keys create",
  summary: "make an API key; it is printed once",
  flags: {
    ...storeFlags,
    org: orgFlag,
    kind: { type: "string", value: "KIND", help: "secret (reads and writes) or public (reads)" },
    name: { type: "string", value: "TEXT", help: "a name to know it by" },
    "expires-at": { type: "string", value: "TIME", help: "epoch milliseconds or an ISO-8601 date-time" },
    databases: { type: "string", value: "A,B", help: "limit it to these databases" },
    json: jsonFlag
  },
  async run(args) {
    requireFlag(args, "org", "--org NAME");
    requireFlag(args, "kind", "--kind secret or --kind public");
    const nowMs = openClock(process.env).now();
    const request = orUsageError(() => ({
      kind: parseKeyKind(args.text("kind")),
      name: parseKeyName(args.text("name")),
      expiresAtMs: parseExpiresAt(parseInstant(args.text("expires-at")), nowMs),
      databases: parseKeyDatabases(args.text("databases")?.split(","))
    }));
    return withStore(args, { mustExist: true }, async (engine) => {
      const organization = await requireOrganization2(engine, args);
      const { apiKey, text } = await createApiKey(engine, asOperator(organization), request, nowMs);
      if (args.flag("json"))
        printJson(presentNewApiKey(apiKey, text));
      else {
        printLine(`id   ${apiKey.id}`);
        printLine(`key  ${text}`);
      }
      return 0;
    });
  }
};
var keysListCommand = {
  name: "keys list",
  summary: "list the API keys of an organization, newest first",
  flags: { ...storeFlags, org: orgFlag, json: jsonFlag },
  async run(args) {
    requireFlag(args, "org", "--org NAME");
    return withStore(args, { mustExist: true }, async (engine) => {
      const organization = await requireOrganization2(engine, args);
      const nowMs = openClock(process.env).now();
      const keys = [];
      for (let cursor;cursor !== null; ) {
        const page = await listApiKeys(engine, organization.id, { limit: pageRowsMax, cursor });
        keys.push(...page.keys);
        cursor = page.cursor;
      }
      const shown = keys.map((key) => presentApiKey(key, nowMs));
      if (args.flag("json"))
        printJson({ keys: shown, cursor: null });
      else {
        const rows = shown.map((key) => [key.id, key.kind, key.status, key.masked, key.name ?? ""]);
        printTable([["ID", "KIND", "STATUS", "KEY", "NAME"], ...rows]);
      }
      return 0;
    });
  }
};
var keysRevokeCommand = {
  name: "keys revoke",
  positionals: ["ID"],
  summary: "revoke an API key, for ever; holds at once for running servers too",
  flags: { ...storeFlags, org: orgFlag, json: jsonFlag },
  async run(args) {
    requireFlag(args, "org", "--org NAME");
    return withStore(args, { mustExist: true }, async (engine) => {
      const organization = await requireOrganization2(engine, args);
      const nowMs = openClock(process.env).now();
      const key = await engine.revokeApiKey(asOperator(organization), args.positionals[0], nowMs);
      if (key === undefined) {
        throw new CommandFailed(`${organization.name} has no API key of that id; see cubby keys list --org ${organization.name}`);
      }
      if (args.flag("json"))
        printJson(presentApiKey(key, nowMs));
      else
        printLine(`revoked ${key.id}`);
      return 0;
    });
  }
};

// src/cli/orgs.ts
init_api_key();
init_names();
var orgsCreateCommand = {
  name: "orgs create",
  positionals: ["NAME"],
  summary: "make an organization with its first secret and public key",
  details: "The keys are printed once; only their hashes are kept.",
  flags: { ...storeFlags, json: jsonFlag },
  async run(args) {
    const name = orUsageError(() => parseName(args.positionals[0], "NAME"));
    return withStore(args, { mustExist: false }, async (engine) => {
      const secret = makeApiKey({ kind: "secret" });
      const open = makeApiKey({ kind: "public" });
      const organization = await engine.createOrganization(name, [secret.kept, open.kept], openClock(process.env).now());
      if (organization === undefined)
        throw new CommandFailed(`an organization has the name ${name} already`);
      if (args.flag("json"))
        printJson({ id: organization.id, name, secretKey: secret.text, publicKey: open.text });
      else {
        printLine(`organization ${name}`);
        printLine(`secret key   ${secret.text}`);
        printLine(`public key   ${open.text}`);
      }
      return 0;
    });
  }
};
var orgsListCommand = {
  name: "orgs list",
  summary: "list the organizations",
  flags: { ...storeFlags, json: jsonFlag },
  run: (args) => withStore(args, { mustExist: true }, async (engine) => {
    const organizations = await engine.listOrganizations();
    if (args.flag("json")) {
      printJson({
        organizations: organizations.map(({ id, name, createdAtMs }) => ({ id, name, createdAt: createdAtMs }))
      });
    } else {
      const rows = organizations.map(({ name, createdAtMs }) => [name, new Date(createdAtMs).toISOString()]);
      printTable([["NAME", "CREATED"], ...rows]);
    }
    return 0;
  })
};

// src/cli/records.ts
init_errors();
init_indices();
init_iso_date_time();
init_record_data();
init_record_key();
var addressFlags = { db: dbFlag, table: tableFlag };
var requireRecordKey = (args) => {
  const [hashKey, rangeKey] = args.positionals;
  return orUsageError(() => parseRecordKey(hashKey, rangeKey));
};
var print = async (text) => {
  const out = writeToStdout();
  await out.write(`${text}
`);
  await out.end();
};
var getCommand = {
  name: "get",
  positionals: ["HASHKEY", "[RANGEKEY]"],
  summary: "print a record, its data as it was put",
  flags: { ...addressFlags, ...remoteFlags },
  async run(args) {
    const [db, table] = [requireName(args, "db"), requireName(args, "table")];
    const { hashKey, rangeKey } = requireRecordKey(args);
    const query = { hash: JSON.stringify(hashKey), range: `{"eq":${JSON.stringify(rangeKey)}}` };
    for await (const { items } of queryPages(openRemote(args), db, table, query)) {
      if (items.length === 0)
        continue;
      await print(items[0]);
      return 0;
    }
    throw new CubbyError2("record_not_found", "There is no record of that key.", {
      hint: rangeKey === emptySlot ? "If it has a range key, give that too." : undefined
    });
  }
};
var putCommand = {
  name: "put",
  positionals: ["HASHKEY", "[RANGEKEY]"],
  summary: "put a record and print it",
  details: "The data is a JSON object, from --data or from standard input, and is kept exactly as it is written.",
  flags: {
    ...addressFlags,
    data: { type: "string", value: "JSON", help: "the data; standard input if it is not given" },
    ttl: { type: "string", value: "TIME", help: "when it expires: epoch seconds or an ISO-8601 date-time" },
    "if-match": { type: "string", value: "VERSION", help: "only if its updatedAt is this; * if it exists at all" },
    "if-absent": { type: "boolean", help: "only if there is none yet" },
    ...remoteFlags
  },
  async run(args) {
    const [db, table] = [requireName(args, "db"), requireName(args, "table")];
    const { hashKey, rangeKey } = requireRecordKey(args);
    const headers = parseConditions(args);
    const ttl = parseTtlFlag(args.text("ttl"), openClock(process.env).now());
    const remote = openRemote(args);
    const given = args.isGiven("data") ? args.text("data") : undefined;
    const data = checkData(given ?? await readStdin());
    const members = [`"hashKey":${JSON.stringify(hashKey)}`, `"rangeKey":${JSON.stringify(rangeKey)}`, `"data":${data}`];
    if (ttl !== undefined)
      members.push(`"ttl":${ttl}`);
    const body = `{${members.join(",")}}`;
    await print(await remote.request({ method: "PUT", path: `/v1/${db}/${table}`, body, headers, repeatable: false }));
    return 0;
  }
};
var parseConditions = (args) => {
  const ifMatch = args.text("if-match");
  if (ifMatch === undefined)
    return args.flag("if-absent") ? { "if-none-match": "*" } : {};
  if (args.flag("if-absent"))
    throw new UsageError("--if-match and --if-absent exclude each other");
  if (ifMatch === "*")
    return { "if-match": "*" };
  if (/^[0-9]+$/.test(ifMatch))
    return { "if-match": `"${ifMatch}"` };
  throw new UsageError(`--if-match is "${ifMatch}"; it takes a record's updatedAt, or *`);
};
var parseTtlFlag = (text, nowMs) => {
  if (text === undefined)
    return;
  const instant = parseIsoDateTime(text);
  const seconds = instant === undefined ? undefined : Math.ceil(instant / 1000);
  if (seconds !== undefined || /^[0-9]{1,15}$/.test(text)) {
    return orUsageError(() => parseTtl(seconds ?? Number(text), "--ttl", nowMs)) ?? undefined;
  }
  throw new UsageError(`--ttl is "${text}"; it takes epoch seconds or an ISO-8601 date-time`);
};
var readStdin = async () => {
  if (process.stdin.isTTY === true)
    throw new UsageError("--data JSON is missing");
  try {
    return new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(await Bun.stdin.bytes());
  } catch {
    throw new UsageError("the data on standard input is not valid UTF-8");
  }
};
var checkData = (text) => {
  let value;
  try {
    value = JSON.parse(text);
  } catch (error) {
    const reason = error.message.replace(/^JSON Parse error: /, "");
    throw new UsageError(text.trim() === "" ? "the data is empty" : `the data is not JSON: ${reason}`);
  }
  if (typeof value === "object" && value !== null && !Array.isArray(value))
    return text.trim();
  throw new UsageError('the data is not a JSON object; wrap it: {"value":\u2026}');
};
var operators = [
  ["eq", "eq", "equal to"],
  ["lt", "lt", "less than"],
  ["lte", "lte", "less than or equal to"],
  ["gt", "gt", "greater than"],
  ["gte", "gte", "greater than or equal to"],
  ["begins-with", "beginsWith", "that begins with"]
];
var queryCommand = {
  name: "query",
  summary: "print the records that a query finds, one a line",
  details: `Without --index by primary key: --hash is the hash key. --index t is by time of the last write, newest first;
--index i1 to i5 are the declared ones. Keys are taken as they stand. Values of a declared index are numbers,
true, false, or strings; a string that looks like one of the former is put in quotes: --hash '"5"'.
--gte with --lte is the range between them. White space outside strings is left out.`,
  flags: {
    ...addressFlags,
    index: { type: "string", value: "INDEX", help: "t, or a declared one: i1 to i5" },
    hash: { type: "string", value: "VALUE", help: "the hash key, or the value of the hash field" },
    ...Object.fromEntries(operators.map(([flag, , words]) => [flag, { type: "string", value: "VALUE", help: `a range ${words} this` }])),
    ascending: { type: "boolean", help: "in rising order" },
    descending: { type: "boolean", help: "in falling order" },
    limit: { type: "string", value: "N", help: "records of a page: 100, at most 1000" },
    all: { type: "boolean", help: "all pages, not only the first" },
    cursor: { type: "string", value: "CURSOR", help: "go on behind an earlier page" },
    page: { type: "boolean", help: 'print the page as answered: {"items":[\u2026],"count":\u2026,"cursor":\u2026}' },
    ...remoteFlags
  },
  async run(args) {
    const [db, table] = [requireName(args, "db"), requireName(args, "table")];
    if (args.flag("page") && args.flag("all"))
      throw new UsageError("--page and --all exclude each other");
    const query = parseQuery(args);
    const out = writeToStdout();
    for await (const { text, items, cursor } of queryPages(openRemote(args), db, table, query)) {
      if (args.flag("page"))
        await out.write(`${minifyJson(text)}
`);
      else
        for (const item of items)
          await out.write(`${minifyJson(item)}
`);
      if (args.flag("all"))
        continue;
      await out.end();
      if (cursor !== null && !args.flag("page")) {
        printNote(`there is more: add --all, or --cursor ${cursor}`);
      }
      return 0;
    }
    await out.end();
    return 0;
  }
};
var parseQuery = (args) => {
  const index = args.text("index");
  if (index !== undefined && index !== "t" && !slots.includes(index)) {
    throw new UsageError(`--index is "${index}"; it takes t or i1 to i5`);
  }
  const hash = args.text("hash");
  if (hash === undefined && index !== "t")
    throw new UsageError("--hash VALUE is missing");
  const valueText = index === undefined ? JSON.stringify : indexValueText;
  const query = {};
  if (index !== undefined)
    query.index = `"${index}"`;
  if (hash !== undefined)
    query.hash = valueText(hash);
  const range = parseRange(args, valueText);
  if (range !== undefined)
    query.range = range;
  if (args.flag("ascending") && args.flag("descending")) {
    throw new UsageError("--ascending and --descending exclude each other");
  }
  if (args.flag("ascending") || args.flag("descending"))
    query.ascending = String(args.flag("ascending"));
  const limit = args.text("limit");
  if (limit !== undefined && !/^[1-9][0-9]{0,8}$/.test(limit)) {
    throw new UsageError(`--limit is "${limit}"; it takes an integer of at least 1`);
  }
  if (limit !== undefined)
    query.limit = limit;
  const cursor = args.text("cursor");
  if (cursor !== undefined)
    query.cursor = JSON.stringify(cursor);
  return query;
};
var parseRange = (args, valueText) => {
  const given = operators.flatMap(([flag, operator]) => {
    const value = args.text(flag);
    return value === undefined ? [] : [[operator, flag === "begins-with" ? JSON.stringify(value) : valueText(value)]];
  });
  if (given.length === 0)
    return;
  if (given.length === 1)
    return `{"${given[0][0]}":${given[0][1]}}`;
  const { gte, lte, ...others } = Object.fromEntries(given);
  if (gte !== undefined && lte !== undefined && Object.keys(others).length === 0)
    return `{"between":[${gte},${lte}]}`;
  throw new UsageError("a range takes one operator, or --gte together with --lte");
};
var scalar = /^(?:true|false|-?(?:0|[1-9][0-9]*)(?:\.[0-9]+)?(?:[eE][+-]?[0-9]+)?)$/;
var indexValueText = (value) => {
  if (scalar.test(value))
    return value;
  if (value.startsWith('"')) {
    try {
      if (typeof JSON.parse(value) === "string")
        return value;
    } catch {}
  }
  return JSON.stringify(value);
};

// src/background/key-use.ts
init_limits();
var usesPerWrite = 500;
var startKeyUse = (engine, log, everyMs) => {
  let noted = new Map;
  const flush = async () => {
    const uses = [...noted].map(([id, atMs]) => ({ id, atMs }));
    noted = new Map;
    try {
      for (let i = 0;i < uses.length; i += usesPerWrite)
        await engine.recordKeyUse(uses.slice(i, i + usesPerWrite));
    } catch (error) {
      log("warn", "lastUsedAt could not be written", { cause: String(error) });
    }
  };
  const timer = setInterval(flush, everyMs);
  timer.unref();
  return {
    note(keyId, atMs) {
      if (noted.size < lastUsedEntriesMax || noted.has(keyId))
        noted.set(keyId, atMs);
    },
    async stop() {
      clearInterval(timer);
      await flush();
    }
  };
};

// src/background/sweeps.ts
init_limits();

// src/background/wary-clock.ts
var leapMs = 60000;
var makeWaryClock = (now, holdMs, log) => {
  let believedMs = now();
  let believedAt = performance.now();
  let leaptAt;
  return () => {
    const at = performance.now();
    const nowMs = now();
    const expectedMs = Math.floor(believedMs + (at - believedAt));
    const aheadMs = nowMs - expectedMs;
    if (aheadMs > leapMs) {
      if (leaptAt === undefined) {
        leaptAt = at;
        const seconds = Math.round(aheadMs / 1000);
        log("warn", "the clock leapt ahead; sweeps do not believe it yet", { seconds, holdSeconds: holdMs / 1000 });
      }
      if (at - leaptAt < holdMs)
        return expectedMs;
    }
    believedMs = nowMs;
    believedAt = at;
    leaptAt = undefined;
    return nowMs;
  };
};

// src/background/sweeps.ts
var restFactor = 3;
var startSweeps = ({ engine, now, log, leapHoldMs, everyMs }) => {
  const waryNow = makeWaryClock(now, leapHoldMs, log);
  let stopped = false;
  let wake;
  const rest = (ms) => new Promise((resolve) => {
    wake = resolve;
    setTimeout(resolve, ms);
  });
  const drain = async (step) => {
    while (!stopped) {
      const started = performance.now();
      if (await step() === 0)
        return;
      await rest(Math.ceil((performance.now() - started) * restFactor));
    }
  };
  const run = async () => {
    while (!stopped) {
      try {
        await drain(() => engine.sweepExpired(waryNow(), sweepRowsMax));
        await drain(() => engine.purgeTables(waryNow(), sweepRowsMax));
      } catch (error) {
        if (!stopped)
          log("warn", "sweep failed; it goes on later", { cause: String(error) });
      }
      if (!stopped)
        await rest(everyMs);
    }
  };
  const running = run();
  return {
    async stop() {
      stopped = true;
      wake?.();
      await running;
    }
  };
};

// src/cli/serve.ts
init_limits();

// src/http/server.ts
init_errors();
init_limits();

// src/http/answers.ts
init_errors();
init_limits();
var streamedFromBytes = 32 * 1024;
var pieceBytes = 256 * 1024;
var encoder2 = new TextEncoder;
var unread = () => new CubbyError2("unavailable", "Too many large answers to requests with this API key wait to be read.", {
  hint: "Read the answers to earlier requests, then repeat this one; or ask for less with a smaller limit."
});
var inPieces = (bytes, over) => {
  let at = 0;
  return new ReadableStream({
    pull(controller) {
      if (at < bytes.length) {
        controller.enqueue(bytes.subarray(at, at + pieceBytes));
        at += pieceBytes;
        return;
      }
      over();
      controller.close();
    },
    cancel: over
  }, { highWaterMark: 0 });
};

class Answers {
  #unsent = new Shares(answersUnsentBytesMax);
  refuseIfFull(orgId, keySeq) {
    if (!this.#unsent.hasRoom(orgId, keySeq, 1))
      throw unread();
  }
  stream({ orgId, keySeq }, text, isRead, over) {
    if (text.length < streamedFromBytes)
      return;
    const bytes = encoder2.encode(text);
    if (isRead && !this.#unsent.hasRoom(orgId, keySeq, bytes.length))
      throw unread();
    this.#unsent.take(orgId, keySeq, bytes.length);
    let isHeld = true;
    return inPieces(bytes, () => {
      if (!isHeld)
        return;
      isHeld = false;
      this.#unsent.give(orgId, keySeq, bytes.length);
      over();
    });
  }
}

// src/http/authenticate.ts
init_api_key();
init_errors();
init_limits();
var invalid = (message) => new CubbyError2("invalid_api_key", message, { hint: 'Send "Authorization: Bearer svc_live_\u2026" or "svc_pub_\u2026".' });
var readHeaders = new Map;
var presentedKey = (header) => {
  if (header === null) {
    throw new CubbyError2("missing_api_key", "The request carries no API key.", {
      hint: 'Send the header "Authorization: Bearer <API key>".'
    });
  }
  const known = readHeaders.get(header);
  if (known !== undefined)
    return known;
  const text = /^bearer +(\S+)$/i.exec(header)?.[1];
  if (text === undefined)
    throw invalid('The Authorization header is not of the form "Bearer <API key>".');
  if (!isWellFormedApiKey(text))
    throw invalid("The API key is malformed.");
  if (header.length !== "Bearer ".length + text.length)
    return text;
  if (readHeaders.size >= apiKeyCacheEntriesMax)
    readHeaders.clear();
  readHeaders.set(header, text);
  return text;
};
var findActiveKey = (engine, header, nowMs) => andThen(engine.findApiKey(presentedKey(header)), (apiKey) => {
  if (apiKey === undefined)
    throw invalid("The API key is unknown.");
  refuseRetired(apiKey, nowMs);
  return apiKey;
});
var revoked = () => new CubbyError2("revoked_api_key", "The API key has been revoked.", {
  hint: "Use another key; revocation is permanent."
});
var refuseRetired = (apiKey, nowMs) => {
  if (apiKey.revokedAtMs !== null)
    throw revoked();
  if (apiKey.expiresAtMs !== null && apiKey.expiresAtMs <= nowMs) {
    throw new CubbyError2("expired_api_key", `The API key expired at ${new Date(apiKey.expiresAtMs).toISOString()}.`, {
      hint: "Create another key: POST /api/keys"
    });
  }
};
var authorize = (apiKey, need, db, headers) => {
  if (apiKey.kind === "public") {
    if (need !== "read") {
      throw new CubbyError2("read_only_key", "A public key reads records and tables; this request needs a secret key.", {
        hint: "Send it from your server with a secret key (svc_live_\u2026)."
      });
    }
  } else if (isFromForeignPage(headers)) {
    throw new CubbyError2("secret_key_in_browser", "A secret key was sent by a web page of another origin.", {
      hint: "Use a public key (svc_pub_\u2026) in browsers, revoke this one, and keep secret keys on your server."
    });
  }
  if (apiKey.databases === null)
    return;
  if (need === "keys") {
    throw new CubbyError2("key_scope", "A key limited to databases cannot manage keys.", {
      hint: 'Use a secret key without a "databases" limit.'
    });
  }
  if (db !== undefined && !apiKey.databases.includes(db)) {
    throw new CubbyError2("key_scope", "The API key is limited to other databases.", {
      hint: `It may use: ${apiKey.databases.join(", ")}.`
    });
  }
};
var isFromForeignPage = (headers) => {
  const site = headers.get("sec-fetch-site");
  if (site !== null)
    return site === "cross-site" || site === "same-site";
  const origin = headers.get("origin");
  if (origin === null)
    return false;
  const host = /^[a-z][a-z0-9+.-]*:\/\/(.*)$/i.exec(origin)?.[1];
  return host?.toLowerCase() !== headers.get("host")?.toLowerCase();
};

// src/http/server.ts
init_body();

// src/http/connections.ts
import { readdirSync as readdirSync2, readFileSync as readFileSync5 } from "fs";
var openFilesMax = () => {
  try {
    const line = readFileSync5("/proc/self/limits", "utf8").split(`
`).find((limit) => limit.startsWith("Max open files"));
    const soft = Number(line?.split(/\s{2,}/)[1]);
    return Number.isFinite(soft) ? soft : undefined;
  } catch {
    return;
  }
};
var openFiles = () => {
  try {
    return readdirSync2("/proc/self/fd").length;
  } catch {
    return;
  }
};
var share = 0.8;
var watchConnections = (server, log) => {
  const most = openFilesMax();
  const timer = setInterval(() => {
    if (most === undefined)
      return;
    const open = openFiles() ?? most;
    if (open < most * share)
      return;
    log("warn", "too many connections; closing the idle ones", { open, most });
    server.closeIdleConnections();
  }, 1000);
  timer.unref();
  return timer;
};

// src/http/request-id.ts
import { randomBytes as randomBytes2 } from "crypto";
var callersOwn = /^[\x21-\x7e]{1,128}$/;
var prefix = randomBytes2(6).toString("base64url");
var count2 = 0;
var requestIdOf = (headers) => {
  const given = headers.get("x-request-id");
  if (given !== null && callersOwn.test(given))
    return given;
  count2++;
  return `${prefix}-${count2.toString(36)}`;
};

// src/http/server.ts
init_respond();
init_routes();

// src/http/turns.ts
init_errors();
init_limits();
var atOnceMs = 5;
var sliceMs = 2;
var sliceRequestsMax = 16;
var chargedFromMs = 0.5;
var watchEveryMs = 250;

class KeyLine {
  usedMs = 0;
  waiting = new Fifo;
}

class OrgLine {
  usedMs = 0;
  floorMs = 0;
  keys = new Map;
  waiting = new Set;
}
var late = () => new CubbyError2("unavailable", "The server is busy; the turn of this request did not come. Nothing was applied.", {
  hint: "Repeat the request after the time in Retry-After."
});
var leastUsed = (lines) => {
  let least;
  for (const line of lines)
    if (least === undefined || line.usedMs < least.usedMs)
      least = line;
  return least;
};

class Turns {
  #orgs = new Map;
  #waitingOrgs = new Set;
  #waiters;
  #floorMs = 0;
  #usedAtOnceMs = 0;
  #usedInSliceMs = 0;
  #resetIsDue = false;
  #sliceIsDue = false;
  #runningOrgId = 0;
  #runningKeySeq = 0;
  #startedAtMs;
  constructor(msMax = turnMsMax) {
    this.#waiters = new Deadlines(msMax, watchEveryMs);
  }
  stop() {
    this.#waiters.stop();
  }
  get isFree() {
    return this.#usedAtOnceMs < atOnceMs && this.#waiters.size === 0;
  }
  begin(orgId, keySeq, endsByItself = false) {
    if (this.#startedAtMs !== undefined)
      this.end();
    this.#runningOrgId = orgId;
    this.#runningKeySeq = keySeq;
    this.#startedAtMs = performance.now();
    if (endsByItself && !this.#resetIsDue)
      this.#scheduleReset();
  }
  end() {
    if (this.#startedAtMs === undefined)
      return;
    const ms = performance.now() - this.#startedAtMs;
    this.#startedAtMs = undefined;
    this.#usedAtOnceMs += ms;
    this.#usedInSliceMs += ms;
    if (ms >= chargedFromMs || this.#waiters.size > 0)
      this.#charge(ms);
    if (this.#usedAtOnceMs > 1 && !this.#resetIsDue)
      this.#scheduleReset();
  }
  wait(orgId, keySeq) {
    return new Promise((resolve, reject) => {
      const waiter = { startedAtMs: performance.now(), resolve, expire: () => reject(late()) };
      const org = this.#orgLine(orgId);
      const key = keyLine(org, keySeq);
      if (org.waiting.size === 0) {
        org.usedMs = Math.max(org.usedMs, this.#floorMs);
        this.#waitingOrgs.add(org);
      }
      if (key.waiting.size === 0) {
        key.usedMs = Math.max(key.usedMs, org.floorMs);
        org.waiting.add(key);
      }
      key.waiting.push(waiter);
      this.#waiters.add(waiter);
      if (!this.#sliceIsDue)
        this.#scheduleSlice();
    });
  }
  #orgLine(orgId) {
    let org = this.#orgs.get(orgId);
    if (org === undefined) {
      org = new OrgLine;
      org.usedMs = this.#floorMs;
      this.#orgs.set(orgId, org);
    }
    return org;
  }
  #charge(ms) {
    const org = this.#orgLine(this.#runningOrgId);
    org.usedMs += ms;
    keyLine(org, this.#runningKeySeq).usedMs += ms;
  }
  #scheduleReset() {
    this.#resetIsDue = true;
    setImmediate(() => {
      this.#resetIsDue = false;
      this.end();
      this.#usedAtOnceMs = 0;
      if (this.#waiters.size === 0)
        this.#forget();
    });
  }
  #scheduleSlice() {
    this.#sliceIsDue = true;
    this.#usedInSliceMs = 0;
    const requests = Math.min(this.#waiters.size, sliceRequestsMax);
    for (let i = 0;i < requests; i++)
      setImmediate(this.#serveNext);
    setImmediate(this.#endSlice);
  }
  #serveNext = () => {
    this.end();
    if (this.#usedInSliceMs < sliceMs)
      this.#takeNext()?.resolve();
  };
  #endSlice = () => {
    this.end();
    this.#sliceIsDue = false;
    if (this.#waiters.size > 0)
      this.#scheduleSlice();
    else
      this.#forget();
  };
  #takeNext() {
    for (;; ) {
      const org = leastUsed(this.#waitingOrgs);
      if (org === undefined)
        return;
      this.#floorMs = org.usedMs;
      const key = leastUsed(org.waiting);
      org.floorMs = key.usedMs;
      const waiter = key.waiting.shift();
      if (key.waiting.size === 0)
        org.waiting.delete(key);
      if (org.waiting.size === 0)
        this.#waitingOrgs.delete(org);
      if (this.#waiters.remove(waiter))
        return waiter;
    }
  }
  #forget() {
    if (this.#orgs.size > 0)
      this.#orgs.clear();
    this.#waitingOrgs.clear();
    this.#floorMs = 0;
  }
}
var keyLine = (org, keySeq) => {
  let key = org.keys.get(keySeq);
  if (key === undefined) {
    key = new KeyLine;
    key.usedMs = org.floorMs;
    org.keys.set(keySeq, key);
  }
  return key;
};

// src/http/server.ts
class RequestExchange {
  request;
  params;
  requestId;
  service;
  route;
  access;
  nowMs = 0;
  heldBytes = 0;
  constructor(request, params, requestId, service, route) {
    this.request = request;
    this.params = params;
    this.requestId = requestId;
    this.service = service;
    this.route = route;
  }
  get orgId() {
    return this.access.apiKey.orgId;
  }
  get keySeq() {
    return this.access.apiKey.seq;
  }
  authenticate() {
    const { engine } = this.service.options;
    this.nowMs = this.service.options.now();
    return andThen(findActiveKey(engine, this.request.headers.get("authorization"), this.nowMs), (apiKey) => {
      authorize(apiKey, this.route.need, this.params.db, this.request.headers);
      this.service.noteKeyUse(apiKey.id, this.nowMs);
      this.access = { engine, apiKey };
    });
  }
  async readBody(bytesMax) {
    const { bodies, turns } = this.service;
    const text = await bodies.read(this.request, bytesMax, this);
    if (!turns.isFree)
      await turns.wait(this.orgId, this.keySeq);
    turns.begin(this.orgId, this.keySeq, true);
    await this.authenticate();
    return text;
  }
  runSteps(steps) {
    const { turns } = this.service;
    while (turns.isFree) {
      const step = steps.next();
      if (step.done === true)
        return step.value;
      turns.begin(this.orgId, this.keySeq, true);
    }
    return this.#runInTurns(steps);
  }
  async#runInTurns(steps) {
    const { turns } = this.service;
    for (;; ) {
      if (!turns.isFree)
        await turns.wait(this.orgId, this.keySeq);
      turns.begin(this.orgId, this.keySeq, true);
      const step = steps.next();
      if (step.done === true)
        return step.value;
    }
  }
  bodyOf(text) {
    const { request, service } = this;
    if (request.method === "HEAD")
      return text;
    const stream = service.answers.stream(this, text, this.route.need === "read", () => service.setIdleTimeout(request, connectionIdleSecondsMax));
    if (stream === undefined)
      return text;
    service.setIdleTimeout(request, answerIdleSecondsMax);
    return stream;
  }
}
var keyUseNoteMs = 1000;
var tooMany2 = () => new CubbyError2("unavailable", "Too many requests with this API key are in flight; nothing was applied.", {
  hint: "Repeat the request after the time in Retry-After."
});

class Service {
  options;
  bodies = new BodyReader;
  turns = new Turns;
  answers = new Answers;
  #inFlight = new Shares(requestsInFlightMax);
  setIdleTimeout = () => {};
  #notedKeyId = "";
  #notedAtMs = Number.NEGATIVE_INFINITY;
  constructor(options) {
    this.options = options;
  }
  handlerFor(path, methods) {
    const allow = allowedMethods(methods);
    const hashKey = literalHashKey(path);
    return this.#logged(path, (request) => {
      const { method } = request;
      const route = methods[method === "HEAD" ? "GET" : method];
      if (route === undefined)
        return this.#withoutRoute(request, allow);
      const params = hashKey === undefined ? request.params : { ...request.params, hashKey };
      const exchange = new RequestExchange(request, params, requestIdOf(request.headers), this, route);
      return this.#answer(exchange, route);
    });
  }
  #answer(exchange, route) {
    try {
      const authenticated = exchange.authenticate();
      if (authenticated instanceof Promise || route.need !== "read" || route.takesBody || !this.turns.isFree) {
        return this.#answerLater(exchange, route, authenticated);
      }
      const response = this.#runNow(exchange, route);
      return response instanceof Promise ? this.#caught(exchange, response) : closingIfUnread(exchange.request, response);
    } catch (error) {
      return closingIfUnread(exchange.request, this.answerError(exchange.requestId, error));
    }
  }
  async#answerLater(exchange, route, authenticated) {
    let isCounted = false;
    try {
      if (authenticated instanceof Promise)
        await authenticated;
      isCounted = this.#inFlight.tryTake(exchange.orgId, exchange.keySeq, 1);
      if (!isCounted)
        throw tooMany2();
      if (route.need !== "read")
        this.answers.refuseIfFull(exchange.orgId, exchange.keySeq);
      if (route.takesBody)
        return await route.handler(exchange);
      if (!this.turns.isFree) {
        await this.turns.wait(exchange.orgId, exchange.keySeq);
        await exchange.authenticate();
      }
      return await this.#runNow(exchange, route);
    } catch (error) {
      return closingIfUnread(exchange.request, this.answerError(exchange.requestId, error));
    } finally {
      if (isCounted) {
        this.bodies.release(exchange);
        this.#inFlight.give(exchange.orgId, exchange.keySeq, 1);
      }
    }
  }
  #runNow(exchange, route) {
    this.turns.begin(exchange.orgId, exchange.keySeq);
    try {
      return route.handler(exchange);
    } finally {
      this.turns.end();
    }
  }
  async#caught(exchange, response) {
    try {
      return closingIfUnread(exchange.request, await response);
    } catch (error) {
      return closingIfUnread(exchange.request, this.answerError(exchange.requestId, error));
    }
  }
  stop() {
    this.bodies.stop();
    this.turns.stop();
  }
  noteKeyUse(keyId, nowMs) {
    const sinceMs = nowMs - this.#notedAtMs;
    if (keyId === this.#notedKeyId && sinceMs >= 0 && sinceMs < keyUseNoteMs)
      return;
    this.#notedKeyId = keyId;
    this.#notedAtMs = nowMs;
    this.options.onKeyUse(keyId, nowMs);
  }
  answerError(requestId, error) {
    if (error instanceof CubbyError2) {
      if (error.code === "internal" || error.code === "outcome_unknown") {
        this.options.log("error", "request failed", { requestId, code: error.code, cause: error.cause });
      }
      const response = respondError(requestId, error.code === "revoked_api_key" ? revoked() : error);
      if (error instanceof BodyAbandoned)
        response.headers.set("Connection", "close");
      return response;
    }
    const cause = error instanceof Error ? error.stack ?? error.message : String(error);
    this.options.log("error", "request failed", { requestId, cause });
    return respondError(requestId, new CubbyError2("internal", "The server failed to answer this request.", {
      hint: "It is our fault; the log has the cause under this requestId."
    }));
  }
  #withoutRoute(request, allow) {
    const requestId = requestIdOf(request.headers);
    if (request.method === "OPTIONS")
      return respondPreflight(requestId);
    const error = new CubbyError2("method_not_allowed", `${request.method} is not a method of this path.`, {
      hint: `It takes ${allow}.`
    });
    return closingIfUnread(request, respondError(requestId, error, allow));
  }
  notFound() {
    return this.#logged(undefined, (request) => {
      const requestId = requestIdOf(request.headers);
      if (request.method === "OPTIONS")
        return respondPreflight(requestId);
      const error = new CubbyError2("route_not_found", "No route has this path.", {
        hint: "Records: /v1/:db/:table/:hashKey[/:rangeKey]; tables: /v1/:db/:table; keys: /api/keys. No trailing slash."
      });
      return closingIfUnread(request, respondError(requestId, error));
    });
  }
  open(path, answer) {
    return this.#logged(path, async (request) => {
      if (request.method !== "GET" && request.method !== "HEAD")
        return this.#withoutRoute(request, "GET, HEAD, OPTIONS");
      const requestId = requestIdOf(request.headers);
      try {
        return closingIfUnread(request, await answer(requestId));
      } catch (error) {
        return this.answerError(requestId, error);
      }
    });
  }
  health(path, check, status) {
    return this.open(path, async (requestId) => {
      const well = await (async () => check())().catch(() => false);
      if (well)
        return respondJson(requestId, { status });
      return respondError(requestId, new CubbyError2("unavailable", "The store cannot serve just now."));
    });
  }
  #logged(path, handler) {
    if (!this.options.logRequests)
      return handler;
    return async (request, server) => {
      const started = performance.now();
      const response = await handler(request, server);
      this.options.log("info", "request", {
        requestId: response.headers.get("x-request-id"),
        method: request.method,
        path: shownPath(path, request),
        status: response.status,
        ms: Math.round((performance.now() - started) * 100) / 100
      });
      return response;
    };
  }
}
var unreadEveryMs = 500;
var unreadAtMs = Number.NEGATIVE_INFINITY;
var closingIfUnread = (request, response) => {
  if (!request.headers.has("transfer-encoding") || request.bodyUsed)
    return response;
  const nowMs = performance.now();
  if (nowMs - unreadAtMs < unreadEveryMs)
    response.headers.set("Connection", "close");
  else
    unreadAtMs = nowMs;
  return response;
};
var shownPath = (path, request) => path === undefined ? request.url.replace(/^[a-z]+:\/\/[^/]*/i, "").split("?", 1)[0] : path.replace(/:(\w+)/g, (_, name) => encodeURIComponent(request.params[name].toWellFormed()));
var untilAnswered = async (server) => {
  while (server.pendingRequests > 0)
    await Bun.sleep(10);
  await Bun.sleep(100);
};
var description = () => Promise.resolve().then(() => (init_respond2(), exports_respond));
var startHttp = (options) => {
  const service = new Service(options);
  const handlers = Object.fromEntries(Object.entries(routes).map(([path, methods]) => [path, service.handlerFor(path, methods)]));
  const openHandlers = {
    "/healthz": service.health("/healthz", () => true, "ok"),
    "/readyz": service.health("/readyz", () => options.engine.ready(), "ready"),
    "/openapi.json": service.open("/openapi.json", async (id) => (await description()).respondDescription(id)),
    "/docs": service.open("/docs", async (id) => (await description()).respondDocsPage(id))
  };
  const server = Bun.serve({
    hostname: options.host,
    port: options.port,
    reusePort: options.reusePort ?? false,
    development: false,
    idleTimeout: connectionIdleSecondsMax,
    maxRequestBodySize: Number.MAX_SAFE_INTEGER,
    routes: {
      ...handlers,
      ...openHandlers
    },
    fetch: service.notFound(),
    error: (error) => service.answerError("unknown", error)
  });
  service.setIdleTimeout = (request, seconds) => server.timeout(request, seconds);
  const watch = watchConnections(server, options.log);
  return {
    url: server.url.origin,
    async stop() {
      clearInterval(watch);
      await Promise.race([server.stop(false), untilAnswered(server)]);
      await server.stop(true);
      service.stop();
    },
    cut: () => void server.stop(true)
  };
};
// src/cli/logger.ts
var printableLines = (text) => text.split(`
`).map(printable).join(`
    `);
var createLogger = (onTerminal = process.stderr.isTTY === true) => {
  process.stderr.on("error", () => {});
  return (level, message, fields = {}) => {
    const time = new Date().toISOString();
    if (!onTerminal) {
      process.stderr.write(`${printable(maskApiKeys(JSON.stringify({ time, level, message, ...fields })))}
`);
      return;
    }
    const shown = Object.entries(fields).filter(([, value]) => value !== undefined).map(([name, value]) => `${name}=${typeof value === "string" ? value : JSON.stringify(value)}`);
    const line = `${time.slice(11, 19)} ${level.padEnd(5)} ${[message, ...shown].join("  ")}`;
    process.stderr.write(`${printableLines(maskApiKeys(line))}
`);
  };
};

// src/cli/serving.ts
init_api_key();
var openServingEngine = ({ location, noMmap, poolSize, statementMsMax, clock, log }, drain) => openEngine(location, {
  role: "owner",
  log,
  noMmap,
  drain,
  poolSize,
  statementMsMax,
  sweepClock: clock.isMoved ? "caller" : "database",
  leaseMs: clock.leaseMs,
  faults: testFaults(process.env)
});
var stayUp = (log) => {
  process.on("uncaughtException", (error) => log("error", "uncaught", { cause: error.stack ?? String(error) }));
  process.on("unhandledRejection", (reason) => log("error", "unhandled", { cause: String(reason) }));
};
var listenFailure = (error, host, port) => {
  const code = error.code;
  if (code === "EADDRINUSE") {
    return new CommandFailed(`port ${port} on ${host} is taken; stop what listens there or give another --port`);
  }
  if (code === "EACCES")
    return new CommandFailed(`port ${port} on ${host} may not be opened by this user`);
  if (code === "ENOENT" || code === "ENOTFOUND" || code === "EADDRNOTAVAIL") {
    return new CommandFailed(`${host} is not an address of this machine; give another --host`);
  }
  return new CommandFailed(`cannot listen on ${host}:${port}: ${error.message}`);
};
var untilSignal = () => new Promise((done) => {
  for (const signal of ["SIGTERM", "SIGINT"])
    process.once(signal, () => done(signal));
});
var stopWithin = async (ms, http) => {
  const timer = setTimeout(() => http.cut(), ms);
  await http.stop();
  clearTimeout(timer);
};
var bootstrap = async (engine, url, nowMs) => {
  const secret = makeApiKey({ kind: "secret" });
  const open = makeApiKey({ kind: "public" });
  const organization = await engine.bootstrap("default", [secret.kept, open.kept], nowMs);
  if (organization === undefined)
    return;
  const greeting = `
Cubby is running. These keys of the organization "default" are shown this once:

  secret key  ${secret.text}  reads and writes: keep it on your server
  public key  ${open.text}   reads only: for browsers

Make a table, put a record into it, and read it:

  export CUBBY_URL=${url} CUBBY_KEY=${secret.text}
  curl -X POST $CUBBY_URL/v1/app/notes -H "Authorization: Bearer $CUBBY_KEY"
  curl -X PUT $CUBBY_URL/v1/app/notes -H "Authorization: Bearer $CUBBY_KEY" -H 'Content-Type: application/json' -d '{"hashKey":"first","data":{"text":"hello"}}'
  curl $CUBBY_URL/v1/app/notes/first -H "Authorization: Bearer $CUBBY_KEY"
`;
  for (const line of greeting.split(`
`))
    printLine(line);
};

// src/cli/workers.ts
import { resolve as resolve7 } from "path";
init_limits();
var portVariable = "CUBBY_WORKER_PORT";
var startMsMax = 1e4;
var respawnAfterMs = 1000;
var isWorker = () => process.env[portVariable] !== undefined && process.send !== undefined;
var channelToOwner = () => ({
  send: (message) => void process.send(message),
  onMessage: (receive) => process.on("message", (message) => ("outcomes" in message) && receive(message)),
  onClose: (closed) => process.on("disconnect", closed)
});
var serveAsWorker = async (options) => {
  const { location, host, noMmap, clock, log, logRequests } = options;
  for (const signal of ["SIGTERM", "SIGINT"])
    process.on(signal, () => {});
  const told = new Promise((stop) => process.on("message", (message) => ("stop" in message) && stop()));
  process.on("disconnect", () => endProcess(1));
  stayUp(log);
  const engine = location.store === undefined ? await openSqliteEngine({
    dataDir: resolve7(location.data),
    role: "worker",
    channel: channelToOwner(),
    noMmap,
    log
  }) : await openServingEngine(options);
  const keyUse = startKeyUse(engine, log, clock.keyUseEveryMs);
  const port = Number(process.env[portVariable]);
  const http = startHttp({
    engine,
    host,
    port,
    reusePort: true,
    now: clock.now,
    log,
    logRequests,
    onKeyUse: keyUse.note
  });
  process.send({ ready: true });
  await told;
  await stopWithin(stopMsMax - 2500, http);
  await keyUse.stop();
  await engine.close();
  return 0;
};
var reservePort = (host, port) => {
  try {
    const probe = Bun.listen({ hostname: host, port, socket: { data() {} } });
    const taken = probe.port;
    probe.stop(true);
    return taken;
  } catch (error) {
    throw listenFailure(error, host, port);
  }
};

class Workers {
  #options;
  #port;
  #engine;
  #running = new Set;
  #stopping = false;
  constructor(options, port, engine) {
    this.#options = options;
    this.#port = port;
    this.#engine = engine;
  }
  get url() {
    const { host } = this.#options;
    return `http://${host.includes(":") ? `[${host}]` : host}:${this.#port}`;
  }
  async start() {
    await Promise.all(Array.from({ length: this.#options.workers }, () => this.#spawn()));
  }
  #spawn() {
    return new Promise((ready, failed) => {
      const timer = setTimeout(() => worker.kill("SIGKILL"), startMsMax);
      let receive = () => {};
      const worker = Bun.spawn([process.execPath, ...process.execArgv, Bun.main, ...process.argv.slice(2)], {
        env: { ...process.env, [portVariable]: String(this.#port) },
        stdio: ["ignore", "inherit", "inherit"],
        ipc: (message) => {
          if ("group" in message)
            return receive(message);
          clearTimeout(timer);
          ready();
        },
        onExit: (_, code, signal) => {
          clearTimeout(timer);
          failed(new CommandFailed("a worker could not be started"));
          this.#onExit(worker, code ?? signal);
        }
      });
      this.#running.add(worker);
      if ("serveWorker" in this.#engine) {
        this.#engine.serveWorker({
          send: (message) => this.#running.has(worker) && worker.send(message),
          onMessage: (use) => {
            receive = use;
          },
          onClose: () => {}
        });
      }
    });
  }
  #onExit(worker, reason) {
    this.#running.delete(worker);
    if (this.#stopping)
      return;
    const { log } = this.#options;
    const hint = reason === "SIGBUS" ? "a page of cubby.db could not be read: see --no-mmap" : undefined;
    log("error", "a worker ended; starting another", { reason, hint });
    setTimeout(() => {
      if (this.#stopping)
        return;
      this.#spawn().catch((error) => log("error", "a worker could not be started", { cause: String(error) }));
    }, respawnAfterMs);
  }
  async stop() {
    this.#stopping = true;
    const workers = [...this.#running];
    for (const worker of workers)
      worker.send({ stop: true });
    const timer = setTimeout(() => {
      for (const worker of workers)
        worker.kill("SIGKILL");
    }, stopMsMax - 1500);
    await Promise.all(workers.map((worker) => worker.exited));
    clearTimeout(timer);
  }
}
var serveWithWorkers = async (options) => {
  const { location, clock, log } = options;
  let workers;
  const engine = await openServingEngine(options, async () => workers?.stop());
  try {
    workers = new Workers(options, reservePort(options.host, options.port), engine);
  } catch (error) {
    await engine.close();
    throw error;
  }
  stayUp(log);
  const signal = untilSignal();
  try {
    await workers.start();
  } catch (error) {
    await workers.stop();
    await engine.close();
    throw error;
  }
  const { now, leapHoldMs, sweepEveryMs: everyMs } = clock;
  const sweeps = startSweeps({ engine, now, log, leapHoldMs, everyMs });
  const url = workers.url;
  log("info", "listening", {
    url,
    engine: engine.description,
    data: describeLocation(location),
    workers: options.workers
  });
  if (options.bootstrap)
    await bootstrap(engine, url, clock.now());
  log("info", "stopping", { signal: await signal });
  await workers.stop();
  await sweeps.stop();
  await engine.close();
  log("info", "stopped");
  return 0;
};

// src/cli/serve.ts
var serveCommand = {
  name: "serve",
  summary: "run the service",
  details: `The very first start makes the organization "default" with a secret and a public key and prints
both, once. SIGTERM or SIGINT stops it: accepted requests are finished first.`,
  flags: {
    ...storeFlags,
    host: { type: "string", value: "H", help: "address to listen on", default: "127.0.0.1" },
    port: { type: "string", value: "P", help: "port to listen on; 0 takes a free one", default: "4600" },
    "pool-size": { type: "string", value: "N", help: "with --store: connections to the database", default: "8" },
    "statement-timeout": {
      type: "string",
      value: "MS",
      help: "with --store: what a statement may take",
      default: "5000"
    },
    workers: { type: "string", value: "N", help: "serving processes on the one port", default: "1" },
    "no-mmap": {
      type: "boolean",
      help: "read the store without a memory map: slower, but a bad sector ends no process"
    },
    "no-bootstrap": { type: "boolean", help: "make no organization on an empty store" },
    log: { type: "string", value: "WHAT", help: '"requests" logs a line for every request' }
  },
  run(args) {
    const options = parseOptions(args);
    if (isWorker())
      return serveAsWorker(options);
    if (options.location.store === undefined && args.text("store") !== undefined) {
      options.log("warn", "CUBBY_STORE is not used: --data is given");
    }
    return options.workers > 1 ? serveWithWorkers(options) : serveAlone(options);
  }
};
var parseOptions = (args) => ({
  location: storeLocation(args),
  host: args.text("host"),
  port: parseCount(args, "port", 0, 65535),
  workers: parseCount(args, "workers", 1, 256),
  poolSize: parseCount(args, "pool-size", 1, 1000),
  statementMsMax: parseCount(args, "statement-timeout", 1, 600000),
  noMmap: args.flag("no-mmap"),
  bootstrap: !args.flag("no-bootstrap"),
  logRequests: parseLog(args.text("log")),
  clock: openClock(process.env),
  log: createLogger()
});
var serveAlone = async (options) => {
  const { host, port, location, clock, log, logRequests } = options;
  let http;
  const engine = await openServingEngine(options, async () => http?.stop());
  const keyUse = startKeyUse(engine, log, clock.keyUseEveryMs);
  try {
    http = startHttp({ engine, host, port, now: clock.now, log, logRequests, onKeyUse: keyUse.note });
  } catch (error) {
    await engine.close();
    throw listenFailure(error, host, port);
  }
  const { now, leapHoldMs, sweepEveryMs: everyMs } = clock;
  const sweeps = startSweeps({ engine, now, log, leapHoldMs, everyMs });
  stayUp(log);
  const signal = untilSignal();
  log("info", "listening", { url: http.url, engine: engine.description, data: describeLocation(location) });
  if (options.bootstrap)
    await bootstrap(engine, http.url, clock.now());
  log("info", "stopping", { signal: await signal });
  await stopWithin(stopMsMax - 1500, http);
  await sweeps.stop();
  await keyUse.stop();
  await engine.close();
  log("info", "stopped");
  return 0;
};
var parseCount = (args, flag, least, most) => {
  const text = args.text(flag);
  const count = /^[0-9]+$/.test(text) ? Number(text) : Number.NaN;
  if (Number.isInteger(count) && count >= least && count <= most)
    return count;
  throw new UsageError(`--${flag} is "${text}"; it takes ${least} to ${most}`);
};
var parseLog = (text) => {
  if (text === undefined || text === "requests")
    return text === "requests";
  throw new UsageError(`--log is "${text}"; it takes "requests"`);
};

// src/cli/tables.ts
init_indices();
init_limits();
var tablePath = (args) => `/v1/${requireName(args, "db")}/${checkName(args.positionals[0], "NAME")}`;
var slotFlag = { type: "string", value: "FIELDS", help: 'an index: its hash field, or "hash,range"' };
var tableCreateCommand = {
  name: "table create",
  positionals: ["NAME"],
  summary: "make a table",
  details: `Indices cannot be changed later. --i1 status,placedAt declares the index i1 by the field status, ordered by
placedAt; --indices takes the JSON of the HTTP API, for names with a comma. Again with the same indices:
the table as it is.`,
  flags: {
    db: dbFlag,
    ...Object.fromEntries(slots.map((slot) => [slot, slotFlag])),
    indices: { type: "string", value: "JSON", help: '{"i1":{"hashField":"status","rangeField":"placedAt"}}' },
    ...remoteFlags
  },
  async run(args) {
    const path = tablePath(args);
    const body = JSON.stringify({ indices: parseDeclared(args) });
    printLine(await openRemote(args).request({ method: "POST", path, body, repeatable: true }));
    return 0;
  }
};
var parseDeclared = (args) => {
  const json = args.text("indices");
  const bySlot = slots.filter((slot) => args.text(slot) !== undefined);
  if (json !== undefined && bySlot.length > 0)
    throw new UsageError(`--indices and --${bySlot[0]} exclude each other`);
  if (json !== undefined)
    return orUsageError(() => parseIndices(parseJsonFlag(json)));
  const declared = bySlot.map((slot) => {
    const [hashField, rangeField, ...more] = args.text(slot).split(",");
    if (more.length > 0)
      throw new UsageError(`--${slot} takes one field, or two with a comma between them`);
    return [slot, { hashField, rangeField }];
  });
  return orUsageError(() => parseIndices(Object.fromEntries(declared)));
};
var parseJsonFlag = (text) => {
  try {
    return JSON.parse(text);
  } catch {
    throw new UsageError("--indices is not JSON");
  }
};
var tableListCommand = {
  name: "table list",
  summary: "list the tables of a database, one a line",
  flags: {
    db: dbFlag,
    deleted: { type: "boolean", help: "the dropped ones that can still be restored" },
    ...remoteFlags
  },
  async run(args) {
    const path = `/v1/${requireName(args, "db")}?limit=${pageRowsMax}${args.flag("deleted") ? "&deleted=true" : ""}`;
    const remote = openRemote(args);
    for (let after = "";; ) {
      const page = JSON.parse(await remote.request({ method: "GET", path: path + after, repeatable: true }));
      for (const table of page.tables)
        printJson(table);
      if (page.cursor === null)
        return 0;
      after = `&cursor=${encodeURIComponent(page.cursor)}`;
    }
  }
};
var tableDescribeCommand = {
  name: "table describe",
  positionals: ["NAME"],
  summary: "show a table and its indices",
  flags: { db: dbFlag, ...remoteFlags },
  async run(args) {
    const path = tablePath(args);
    printLine(await openRemote(args).request({ method: "GET", path, repeatable: true }));
    return 0;
  }
};
var tableDropCommand = {
  name: "table drop",
  positionals: ["NAME"],
  summary: "take a table away; it can be restored for 7 days",
  flags: { db: dbFlag, ...remoteFlags },
  async run(args) {
    const path = tablePath(args);
    printLine(await openRemote(args).request({ method: "DELETE", path, repeatable: false }));
    return 0;
  }
};
var tableRestoreCommand = {
  name: "table restore",
  positionals: ["NAME"],
  summary: "bring a dropped table back with all its records",
  flags: {
    db: dbFlag,
    "deleted-at": { type: "string", value: "MS", help: "the one dropped then; otherwise the one dropped last" },
    ...remoteFlags
  },
  async run(args) {
    const path = `${tablePath(args)}/restore`;
    const deletedAt = args.text("deleted-at");
    if (deletedAt !== undefined && !/^[0-9]{1,16}$/.test(deletedAt)) {
      throw new UsageError(`--deleted-at is "${deletedAt}"; it takes epoch milliseconds, see cubby table list --deleted`);
    }
    const body = deletedAt === undefined ? undefined : `{"deletedAt":${Number(deletedAt)}}`;
    printLine(await openRemote(args).request({ method: "POST", path, body, repeatable: false }));
    return 0;
  }
};

// src/cli/verify.ts
init_store_refused();
var nextStep = "Keep a copy of the data as it is, then restore the last good backup. A running server serves what is not damaged until then.";
var verifyCommand = {
  name: "verify",
  summary: "check the store: every index entry against its record",
  details: `Exit 0 and one line if all is well. Otherwise exit 1, a line a finding on standard output, and on standard
error which tables are damaged and what to do. Works beside a running server.`,
  flags: { ...storeFlags, json: jsonFlag },
  async run(args) {
    try {
      return await withStore(args, { mustExist: true }, (engine) => verify(args, engine));
    } catch (error) {
      if (!(error instanceof StoreDamaged))
        throw error;
      if (!args.flag("json"))
        printLine(error.message);
      return report2(args, [error.message], []);
    }
  }
};
var verify = async (args, engine) => {
  const findings = [];
  const tableIds = new Set;
  for await (const finding of engine.check((id) => tableIds.add(id))) {
    findings.push(finding);
    if (!args.flag("json"))
      printLine(finding);
  }
  return report2(args, findings, tableIds.size === 0 ? [] : await nameTables(engine, tableIds));
};
var report2 = (args, findings, tables) => {
  const ok = findings.length === 0;
  if (args.flag("json"))
    printJson(ok ? { ok, findings } : { ok, findings, summary: { tables, next: nextStep } });
  else if (ok)
    printLine(`ok: ${describeLocation(storeLocation(args))} is sound`);
  if (!ok) {
    const where = `${showCount(findings.length, "finding")} in ${describeLocation(storeLocation(args))}`;
    printNote(`cubby: ${where}; ${showTables(tables)}`);
    printNote(`cubby: ${nextStep}`);
  }
  return ok ? 0 : 1;
};
var showTables = (tables) => {
  if (tables.length === 0)
    return "no table could be named";
  const show = ({ id, organization, db, table }) => db === null ? `table ${id}` : `${db}/${table} of ${organization ?? "an unknown organization"}`;
  return `damaged tables: ${tables.map(show).join(", ")}`;
};
var nameTables = async (engine, ids) => {
  const named = new Map;
  for (const id of ids)
    named.set(id, { id, organization: null, db: null, table: null });
  const organizations = new Map;
  try {
    const dump = await engine.openDump();
    try {
      for (const { id, name } of await dump.organizations())
        organizations.set(id, name);
      for await (const { id, orgId, db, name } of dump.tables()) {
        if (ids.has(id))
          named.set(id, { id, organization: organizations.get(orgId) ?? null, db, table: name });
      }
    } finally {
      await dump.close();
    }
  } catch {}
  return [...named.values()].sort((a, b) => a.id - b.id);
};

// src/cli/run.ts
var commands = [
  serveCommand,
  orgsCreateCommand,
  orgsListCommand,
  keysCreateCommand,
  keysListCommand,
  keysRevokeCommand,
  verifyCommand,
  tableCreateCommand,
  tableListCommand,
  tableDescribeCommand,
  tableDropCommand,
  tableRestoreCommand,
  getCommand,
  putCommand,
  queryCommand,
  copyCommand,
  exportCommand,
  importCommand,
  backupCreateCommand,
  backupRestoreCommand
];
var findCommand = (words) => commands.find(({ name }) => name.split(" ").every((word, i) => words[i] === word));
var environmentName = (flag) => `CUBBY_${flag.toUpperCase().replaceAll("-", "_")}`;
var parseArguments = (command, words, env) => {
  const flags = command.flags;
  const options = Object.fromEntries(Object.entries(flags).map(([name, { type }]) => [name, { type }]));
  let values;
  let positionals;
  try {
    const parsed = parseArgs({ args: words, options, allowPositionals: true, strict: true });
    values = parsed.values;
    positionals = parsed.positionals;
  } catch (error) {
    throw new UsageError(error.message.split(/\.\s/)[0]);
  }
  const expected = command.positionals ?? [];
  const required = expected.filter((name) => !name.startsWith("["));
  if (positionals.length < required.length)
    throw new UsageError(`${required[positionals.length]} is missing`);
  if (positionals.length > expected.length)
    throw new UsageError(`"${positionals[expected.length]}" is one word too many`);
  const fromEnvironment = (name) => env[environmentName(name)] || undefined;
  return {
    positionals,
    text: (name) => values[name] ?? fromEnvironment(name) ?? flags[name].default,
    isGiven: (name) => values[name] !== undefined,
    flag: (name) => values[name] === true || /^(1|true|yes)$/i.test(fromEnvironment(name) ?? "")
  };
};
var say = (line) => printNote(maskApiKeys(`cubby: ${line}`));
var run = async (called, env) => {
  if (called.includes("--version") || called[0] === "-v") {
    process.stdout.write(`cubby ${package_default.version}
`);
    return 0;
  }
  const help = called[0] === "help" || called.includes("--help") || called.includes("-h");
  const words = called[0] === "help" ? called.slice(1) : called;
  const command = findCommand(words);
  if (command === undefined)
    return withoutCommand(words, help);
  if (help) {
    process.stdout.write(commandHelp(command));
    return 0;
  }
  try {
    return await command.run(parseArguments(command, words.slice(command.name.split(" ").length), env)) ?? 0;
  } catch (error) {
    return explain(error, command);
  }
};
var withoutCommand = (words, help) => {
  const word = words.find((candidate) => !candidate.startsWith("-"));
  const group = word === undefined ? commands : commands.filter(({ name }) => name.startsWith(`${word} `));
  if (group.length === 0) {
    say(`there is no command "${word}"; see cubby --help`);
    return 2;
  }
  if (help || words.length <= 1) {
    process.stdout.write(overview(group));
    return help ? 0 : 2;
  }
  say(`there is no command "${words.slice(0, 2).join(" ")}"; see cubby ${word} --help`);
  return 2;
};
var explain = (error, command) => {
  if (error instanceof UsageError || error instanceof StoreUrlRefused) {
    say(`${error.message}; see cubby ${command.name} --help`);
    return 2;
  }
  if (error instanceof CommandFailed || error instanceof StoreRefused)
    say(error.message);
  else if (error instanceof CubbyError2)
    say(error.hint === undefined ? error.message : `${error.message} ${error.hint}`);
  else
    say(systemReason(error));
  return 1;
};
var systemReason = (error) => {
  const { code, message } = error;
  if (code === "EEXIST" || code === "ENOTDIR")
    return `the data directory cannot be made: ${message}`;
  if (code === "EACCES" || code === "EPERM" || code === "EROFS" || code === "ENOENT") {
    return `the data directory cannot be written: ${message}`;
  }
  if (code?.startsWith("SQLITE_CANTOPEN") || code?.startsWith("SQLITE_READONLY")) {
    return `the data directory cannot be written: ${message}`;
  }
  if (code?.startsWith("SQLITE_NOTADB"))
    return "cubby.db in the data directory is not an SQLite file";
  if (code?.startsWith("SQLITE_CORRUPT"))
    return `the store is damaged: ${message}; restore it from a backup`;
  return message ?? String(error);
};

// src/main.ts
process.exit(await run(process.argv.slice(2), process.env));
