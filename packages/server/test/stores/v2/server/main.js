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

// src/cli/hint-text.ts
var commandOf, isFlag = (value) => value === true || value === "true", flagOf = (name) => `--${name.replaceAll(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`)}`, shell, ownHints, errorLine = ({ code, message, hint }) => {
  const text = ownHints[code] ?? (hint === undefined ? undefined : hintText(hint, shell));
  return text === undefined ? message : `${message} ${text}`;
};
var init_hint_text = __esm(() => {
  init_hint();
  commandOf = {
    listDatabases: "db list",
    listTables: "table list --db {db} [--deleted {deleted}]",
    createTable: "table create {table} --db {db}",
    describeTable: "table describe {table} --db {db}",
    deleteTable: "table drop {table} --db {db}",
    restoreTable: "table restore {table} --db {db} [--deleted-at {deletedAt}]",
    getRecord: "get {hashKey} [{rangeKey}] --db {db} --table {table}",
    putRecord: "put {hashKey} [{rangeKey}] --db {db} --table {table}",
    deleteRecord: "delete {hashKey} [{rangeKey}] --db {db} --table {table}",
    queryRecords: "query --db {db} --table {table}",
    listApiKeys: "keys list --org {org}",
    createApiKey: "keys create --org {org} --kind {kind}",
    revokeApiKey: "keys revoke {id} --org {org}"
  };
  shell = {
    call({ operation, input }) {
      const template = commandOf[operation];
      if (template === undefined)
        return operation;
      const words = template.replaceAll(/ ?\[([^\]]*)\{(\w+)\}\]/g, (_, flag, name) => {
        if (input[name] === undefined)
          return "";
        return isFlag(input[name]) ? ` ${flag.trimEnd()}` : ` ${flag}${input[name]}`;
      }).replaceAll(/\{(\w+)\}/g, (_, name) => String(input[name] ?? name.toUpperCase()));
      return `cubby ${words}`;
    },
    send: (members) => Object.entries(members).map(([name, value]) => `${flagOf(name)} ${value}`).join(" "),
    give: () => "give that too",
    repeatLater: "Try again later"
  };
  ownHints = {
    missing_api_key: "Set CUBBY_KEY or give --key.",
    invalid_api_key: "Set CUBBY_KEY, or give --key, to an API key of this server.",
    read_only_key: "Use a secret key (svc_live_\u2026).",
    route_not_found: "Give --url without a path, for example http://127.0.0.1:4600.",
    method_not_allowed: "Give --url without a path, for example http://127.0.0.1:4600."
  };
});

// src/cli/arguments.ts
import { parseArgs } from "util";
var UsageError, jsonFlag, environmentName = (flag) => `CUBBY_${flag.toUpperCase().replaceAll("-", "_")}`, givenAs = (args, flag) => args.isGiven(flag) ? `--${flag}` : environmentName(flag), parseArguments = ({ flags, positionals: expected = [] }, words, env) => {
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
  const required = expected.filter((name) => !name.startsWith("["));
  if (positionals.length < required.length)
    throw new UsageError(`${required[positionals.length]} is missing`);
  if (positionals.length > expected.length) {
    throw new UsageError(`"${positionals[expected.length]}" is one argument too many`);
  }
  const fromEnvironment = (name) => env[environmentName(name)] || undefined;
  return {
    positionals,
    text: (name) => values[name] ?? fromEnvironment(name) ?? flags[name].default,
    isGiven: (name) => values[name] !== undefined,
    flag: (name) => values[name] === true || /^(1|true|yes)$/i.test(fromEnvironment(name) ?? "")
  };
}, parseCount = (args, flag, min, max) => {
  const text = args.text(flag);
  const count = /^[0-9]+$/.test(text) ? Number(text) : Number.NaN;
  if (Number.isInteger(count) && count >= min && count <= max)
    return count;
  throw new UsageError(`${givenAs(args, flag)} is "${text}"; it takes ${min} to ${max}`);
}, orUsageError = (parse) => {
  try {
    return parse();
  } catch (error) {
    if (!(error instanceof CubbyError))
      throw error;
    throw new UsageError(errorLine(error).replace(/\.$/, ""));
  }
};
var init_arguments = __esm(() => {
  init_errors();
  init_hint_text();
  UsageError = class UsageError extends Error {
  };
  jsonFlag = { type: "boolean", help: "print JSON" };
});

// src/core/text/printable.ts
var unprintable, inJson, escaped = (character) => `\\u${character.charCodeAt(0).toString(16).padStart(4, "0")}`, printable = (line) => line.replace(unprintable, escaped), printableJson = (text) => text.replaceAll(/\r\n?/g, `
`).replace(inJson, escaped);
var init_printable = __esm(() => {
  unprintable = /[\u0000-\u001f\u007f-\u009f\u2028-\u202e\u2066-\u2069]/g;
  inJson = /[\u007f-\u009f\u2028-\u202e\u2066-\u2069]/g;
});

// src/engines/postgres/settings.ts
var postgresFlags, readPostgresSettings = ({ count, testVariable }) => {
  const leaseMs = testVariable("CUBBY_TEST_LEASE_MS");
  return {
    poolSize: count("pool-size"),
    statementMsMax: count("statement-timeout"),
    sweepClock: testVariable("CUBBY_TEST_CLOCK") === undefined ? "database" : "caller",
    leaseMs: leaseMs === undefined ? undefined : Number(leaseMs)
  };
};
var init_settings = __esm(() => {
  postgresFlags = {
    "pool-size": {
      type: "count",
      value: "N",
      help: "with --store: connections to the database",
      default: 8,
      min: 1,
      max: 1000
    },
    "statement-timeout": {
      type: "count",
      value: "MS",
      help: "with --store: how long a statement may take, in milliseconds",
      default: 5000,
      min: 1,
      max: 600000
    }
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

// src/engines/sqlite/disk/end-process.ts
import { dlopen } from "bun:ffi";
var libraries, endProcess = (exitCode) => {
  for (const library of libraries) {
    try {
      dlopen(library, { _exit: { args: ["i32"], returns: "void" } }).symbols._exit(exitCode);
    } catch {}
  }
  process.kill(process.pid, "SIGKILL");
  for (;; )
    Bun.sleepSync(1000);
};
var init_end_process = __esm(() => {
  libraries = [
    "libc.so.6",
    `libc.musl-${process.arch === "arm64" ? "aarch64" : "x86_64"}.so.1`,
    "libSystem.B.dylib"
  ];
});

// src/files/sync.ts
import { closeSync, fsyncSync, openSync, renameSync } from "fs";
import { dirname, resolve } from "path";
var syncPath = (path) => {
  const descriptor = openSync(path, "r");
  try {
    fsyncSync(descriptor);
  } finally {
    closeSync(descriptor);
  }
}, moveIntoPlace = (temporary, file) => {
  syncPath(temporary);
  renameSync(temporary, file);
  syncPath(dirname(resolve(file)));
};
var init_sync = () => {};

// src/engines/sqlite/disk/store-files.ts
import { closeSync as closeSync2, mkdirSync, openSync as openSync2, statSync } from "fs";
import { dirname as dirname2, resolve as resolve2 } from "path";
var refuseDirectory = (error) => {
  const { code = "", message } = error;
  if (code === "EEXIST" || code === "ENOTDIR") {
    return new StoreRefused(`the data directory cannot be created: ${message}`);
  }
  if (/^(SQLITE_CANTOPEN|SQLITE_READONLY|EACCES$|EPERM$|EROFS$|ENOENT$)/.test(code)) {
    return new StoreRefused(`the data directory cannot be written: ${message}`);
  }
  return error;
}, makeDataDir = (dataDir) => {
  const first = mkdirSync(dataDir, { recursive: true, mode: 448 });
  if (first === undefined)
    return;
  const top = dirname2(resolve2(first));
  for (let parent = dirname2(resolve2(dataDir));; parent = dirname2(parent)) {
    syncPath(parent);
    if (parent === top || parent === dirname2(parent))
      return;
  }
}, makePrivateFile = (path) => {
  try {
    closeSync2(openSync2(path, "wx", 384));
  } catch (error) {
    if (error.code !== "EEXIST")
      throw error;
  }
}, warnOfOpenDirectory = (dataDir, log) => {
  const mode = statSync(dataDir).mode & 511;
  if ((mode & 63) === 0)
    return;
  const hint = "every organization is in it: chmod 700";
  log("warn", "other users can enter the data directory", { data: dataDir, mode: mode.toString(8), hint });
};
var init_store_files = __esm(() => {
  init_store_refused();
  init_sync();
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

// src/engines/sqlite/disk/disk-failure.ts
import { Database as Database2 } from "bun:sqlite";
import {
  closeSync as closeSync3,
  existsSync,
  fsyncSync as fsyncSync2,
  openSync as openSync3,
  readdirSync,
  readFileSync,
  readlinkSync,
  realpathSync,
  rmSync,
  writeSync
} from "fs";
import { join } from "path";
var markName = "sync-failed", waitMs = 100, logWaitMs = 1e4, markOf = (dataDir) => join(dataDir, markName), isMarked = (dataDir) => existsSync(markOf(dataDir)), leaveMark = (dataDir, cause) => {
  const descriptor = openSync3(markOf(dataDir), "w", 384);
  try {
    writeSync(descriptor, `${new Date().toISOString()} process ${process.pid}: ${cause}
`);
    fsyncSync2(descriptor);
  } finally {
    closeSync3(descriptor);
  }
  syncPath(dataDir);
}, removeMark = (dataDir) => {
  rmSync(markOf(dataDir), { force: true });
  syncPath(dataDir);
}, noteDiskFailure = (dataDir, cause, log) => {
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
}, refuseMarked = (dataDir) => {
  if (!isMarked(dataDir))
    return;
  throw new StoreRefused(`the server of ${dataDir} ended because the disk failed (see ${markName} there); start the server first: it recovers the store before anyone else may open it`);
}, closeUnlessMarked = (dataDir, close) => {
  if (!isMarked(dataDir))
    close();
  else
    process.once("exit", endProcess);
}, recoverMarked = async (dataDir, log) => {
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
}, copyWholeLog = (path) => {
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
}, processesWith = (path) => {
  try {
    const files = new Set(["", "-wal", "-shm"].map((end) => realpathSync(path) + end));
    const found = readdirSync("/proc").filter((pid) => /^[0-9]+$/.test(pid) && Number(pid) !== process.pid && hasOpen(pid, files));
    if (found.length > 0)
      return found.map((pid) => `${pid} (${nameOf(pid)})`);
  } catch {}
  return ["another process"];
}, hasOpen = (pid, files) => {
  const dir = `/proc/${pid}/fd`;
  try {
    return readdirSync(dir).some((fd) => files.has(targetOf(`${dir}/${fd}`)));
  } catch {
    return false;
  }
}, targetOf = (link) => {
  try {
    return readlinkSync(link);
  } catch {
    return "";
  }
}, nameOf = (pid) => {
  try {
    return readFileSync(`/proc/${pid}/comm`, "utf8").trim();
  } catch {
    return "ended";
  }
};
var init_disk_failure = __esm(() => {
  init_store_refused();
  init_sync();
  init_damage();
  init_end_process();
});

// src/engines/sqlite/disk/store-lock.ts
import { Database as Database3 } from "bun:sqlite";
import { join as join2 } from "path";
var holdStore = (dataDir) => {
  const path = join2(dataDir, "serve.lock");
  makePrivateFile(path);
  const db = new Database3(path, { readwrite: true });
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
var init_store_lock = __esm(() => {
  init_store_refused();
  init_store_files();
});

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

// src/engines/sqlite/records/index-columns.ts
var indexColumns, entriesSql;
var init_index_columns = __esm(() => {
  init_indices();
  indexColumns = slots.flatMap((slot) => [`${slot}_hash`, `${slot}_range`]);
  entriesSql = `json_array(${indexColumns.map((column) => `CAST(r.${column} AS TEXT)`).join(", ")})`;
});

// src/engines/sqlite/maintenance/check.ts
async function* checkStore(db, { table, uncheckedRows } = {}) {
  const notes = { table: table ?? (() => {}), uncheckedRows: uncheckedRows ?? (() => {}) };
  const parts = [checkPages, checkRegistry, checkRecords];
  let isSound = true;
  for (const part of parts) {
    try {
      for await (const finding of part(db, notes)) {
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
        notes.table(id);
  }
}
function* checkPages(db, notes) {
  const rows = db.prepare("PRAGMA integrity_check").iterate();
  const treeNames = readTreeNames(db);
  for (const { integrity_check: text } of rows) {
    for (const line of text.split(`
`)) {
      if (line === "ok" || line.startsWith("***") || line === "")
        continue;
      const row = /^row (\d+) missing from index records_/.exec(line);
      if (row !== null)
        noteTableOf(db, Number(row[1]), notes);
      const tree = treeNames.get(/^Tree (\d+)/.exec(line)?.[1] ?? "");
      yield `sqlite: ${line}${tree === undefined ? "" : ` (${tree})`}`;
    }
  }
}
function* checkRegistry(db, notes) {
  const lines = (sql) => db.prepare(sql).all().map((row) => row.line);
  yield* lines(`SELECT 'api key ' || id || ' belongs to no organization' AS line FROM api_keys
    WHERE org_id NOT IN (SELECT id FROM organizations)`);
  const lost = db.prepare("SELECT id FROM tables WHERE org_id NOT IN (SELECT id FROM organizations)");
  for (const { id } of lost.all()) {
    notes.table(id);
    yield `table ${id} belongs to no organization`;
  }
  yield* lines(`SELECT 'record id ' || max(id) || ' was never given out' AS line FROM records
    HAVING max(id) >= (SELECT value FROM meta WHERE name = 'next_record_id')`);
}
async function* checkRecords(db, notes) {
  const step = db.prepare(`
    SELECT id, table_id, CAST(hash_key AS TEXT) AS hashKey, CAST(range_key AS TEXT) AS rangeKey,
      updated_at AS updatedAtMs, ttl AS ttlSeconds, data, ${entriesSql} AS entries
    FROM records r WHERE id > ?1 ORDER BY id LIMIT ?2`);
  const read = (afterId, rowsMax) => orDamage(() => step.all(afterId, rowsMax));
  const indicesOf = tableIndices(db);
  const mayBeUnchecked = acceptsUnchecked(db);
  let unchecked = 0;
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
          break;
        last = next;
        rowsMax = rowsPerStep;
      }
      continue;
    }
    if (rows.length === 0)
      break;
    for (const row of rows) {
      const result = takeChecksum(row.table_id, row);
      const findings = [];
      if (result === "unchecked" && mayBeUnchecked)
        unchecked++;
      else if (result === "unchecked")
        findings.push("it has no checksum");
      else if (result === "damaged")
        findings.push("it is not as it was written: its checksum does not match");
      const content = checkContent(row, indicesOf(row.table_id));
      if (content !== undefined)
        findings.push(content);
      if (findings.length > 0)
        notes.table(row.table_id);
      for (const finding of findings)
        yield `record ${row.id} (table ${row.table_id}, ${showKey(row)}): ${finding}`;
    }
    last = rows.at(-1).id;
    await Bun.sleep(0);
  }
  notes.uncheckedRows(unchecked);
}
var rowsPerStep = 2000, readTreeNames = (db) => new Map(db.prepare("SELECT CAST(rootpage AS TEXT) AS root, name FROM sqlite_schema WHERE rootpage > 0").all().map(({ root, name }) => [root, name])), noteTableOf = (db, recordId, notes) => {
  const find = db.prepare("SELECT table_id FROM records WHERE id = ?1");
  const row = orDamage(() => find.get(recordId));
  if (row !== damaged && row !== null)
    notes.table(row.table_id);
}, readTableIds = (db) => {
  const ids = [];
  orDamage(() => {
    for (const { id } of db.prepare("SELECT id FROM tables ORDER BY id").iterate())
      ids.push(id);
  });
  return ids;
}, isDamagedTable = (db, tableId) => {
  const count = (index, where = "") => orDamage(() => db.prepare(`SELECT count(*) AS n FROM records INDEXED BY ${index} WHERE table_id = ?1${where}`).get(tableId).n);
  const columns = slots.map((slot) => `count(${slot}_hash) AS ${slot}`).join(", ");
  const rows = orDamage(() => db.prepare(`SELECT count(*) AS n, total(length(data)), ${columns} FROM records INDEXED BY records_by_key WHERE table_id = ?1`).get(tableId));
  if (rows === damaged || count("records_by_time") !== rows.n)
    return true;
  return slots.some((slot) => count(`records_by_${slot}`, ` AND ${slot}_hash IS NOT NULL`) !== rows[slot]);
}, tableIndices = (db) => {
  const find = db.prepare("SELECT indices FROM tables WHERE id = ?1");
  const known = new Map;
  return (tableId) => {
    if (!known.has(tableId)) {
      const row = orDamage(() => find.get(tableId));
      known.set(tableId, row === damaged ? damaged : row?.indices);
    }
    return known.get(tableId);
  };
}, checkContent = (row, indices) => {
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
}, showKey = ({ hashKey, rangeKey }) => rangeKey === noRangeKey ? JSON.stringify(hashKey) : `${JSON.stringify(hashKey)} ${JSON.stringify(rangeKey)}`;
var init_check = __esm(() => {
  init_record_key();
  init_indices();
  init_damage();
  init_index_columns();
  init_add_checksums();
});

// src/engines/sqlite/maintenance/maintenance.ts
class SqliteMaintenance {
  #store;
  constructor(store) {
    this.#store = store;
  }
  sweepExpired(nowMs, rowsMax) {
    return this.#store.channel.submitMaintenance({ kind: "sweepExpired", nowMs, rowsMax });
  }
  purgeTables(nowMs, rowsMax) {
    return this.#store.channel.submitMaintenance({ kind: "purgeTables", nowMs, rowsMax });
  }
  async addChecksums(rowsMax) {
    const { channel, db, snapshot } = this.#store;
    try {
      return await channel.submitMaintenance({ kind: "addChecksums", rowsMax });
    } catch (error) {
      if (!(error instanceof CubbyError) || error.code !== "store_damaged")
        throw error;
      snapshot.renew();
      const skipped = findDamagedRows(db, rowsMax);
      if (skipped === undefined)
        throw error;
      return channel.submitMaintenance({ kind: "addChecksums", rowsMax, skipped });
    }
  }
  check(notes = {}) {
    return checkStore(this.#store.db, notes);
  }
}
var init_maintenance = __esm(() => {
  init_errors();
  init_add_checksums();
  init_check();
});

// src/engines/sqlite/disk/fault-point.ts
import { readFileSync as readFileSync2, renameSync as renameSync2, rmSync as rmSync2, writeFileSync } from "fs";
var planFaults = (file, faults) => {
  writeFileSync(`${file}.new`, JSON.stringify(faults));
  renameSync2(`${file}.new`, faults.length > 0 ? file : `${file}.hit`);
}, faultPoint = (file, at) => {
  let planned;
  try {
    planned = JSON.parse(readFileSync2(file, "utf8"));
  } catch {
    return;
  }
  const [fault, ...later] = planned;
  if (fault?.at !== at)
    return;
  planFaults(file, later);
  if (later.length === 0)
    rmSync2(file, { force: true });
  if ("waitMs" in fault)
    Bun.sleepSync(fault.waitMs);
  else
    throw Object.assign(new Error("a fault made by a test"), { code: fault.code });
};
var init_fault_point = () => {};

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

// src/engines/sqlite/migrations/migrations.ts
import { randomBytes } from "crypto";
var newCursorSecret = () => randomBytes(cursorKeyBytes).toString("hex"), migrations;
var init_migrations = __esm(() => {
  init_cursor_seal();
  migrations = [
    {
      to: 2,
      run(db) {
        db.run(`
        INSERT INTO meta VALUES ('unchecked_next', 1),
          ('unchecked_end', (SELECT value FROM meta WHERE name = 'next_record_id'));
        CREATE TABLE cursor_key (
          secret BLOB NOT NULL,
          accepts_plain INTEGER NOT NULL
        ) STRICT;
        INSERT INTO cursor_key VALUES (x'${newCursorSecret()}', 1);
      `);
      }
    }
  ];
});

// src/engines/sqlite/migrations/schema.ts
var schemaVersion = 2, applicationId = 1131766393, makeSchema = (secretHex) => `
  CREATE TABLE meta (
    name TEXT PRIMARY KEY,
    value INTEGER NOT NULL
  ) STRICT, WITHOUT ROWID;
  INSERT INTO meta VALUES ('registry_epoch', 1), ('next_record_id', 1);

  CREATE TABLE cursor_key (
    secret BLOB NOT NULL,
    accepts_plain INTEGER NOT NULL
  ) STRICT;
  INSERT INTO cursor_key VALUES (x'${secretHex}', 0);

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
var init_schema = __esm(() => {
  init_indices();
});

// src/engines/sqlite/migrations/prepare-store.ts
import { Database as Database4 } from "bun:sqlite";
import { dirname as dirname3 } from "path";
var startMsMax = 2000, prepareStore = async (path, { isHolder, log = () => {}, faults }) => {
  makePrivateFile(path);
  try {
    const version = readVersion(path);
    if (isHolder || version === 0 || version === schemaVersion)
      prepareSchema(path, faults);
    else
      await prepareAsGuest(path, version, faults);
    if (version > 0 && version < schemaVersion)
      log("info", "the store was migrated", { from: version, to: schemaVersion });
  } catch (error) {
    throw refuseDamaged(path, error);
  }
}, prepareAsGuest = async (path, version, faults) => {
  const dataDir = dirname3(path);
  for (const started = performance.now();performance.now() - started < startMsMax; await Bun.sleep(50)) {
    let lock;
    try {
      lock = holdStore(dataDir);
    } catch (error) {
      if (!(error instanceof StoreRefused))
        throw error;
      if (readVersion(path) === schemaVersion)
        return prepareSchema(path, faults);
      continue;
    }
    try {
      return prepareSchema(path, faults);
    } finally {
      lock.release();
    }
  }
  throw new StoreRefused(`the store in ${dataDir} has version ${version} and an older Cubby serves it: stop that server, start this version (it brings the store to version ${schemaVersion}), and repeat the command`);
}, readVersion = (path) => {
  const db = new Database4(path, { readwrite: true });
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
    return version;
  } finally {
    closeUnlessMarked(dirname3(path), () => db.close());
  }
}, prepareSchema = (path, faults) => {
  const db = new Connection(path, 2048);
  try {
    migrate(db, faults);
    db.prepare("SELECT name, value FROM meta").all();
  } finally {
    closeUnlessMarked(dirname3(path), () => db.close());
  }
}, migrate = (db, faults) => {
  while (versionOf(db) < schemaVersion) {
    db.run("BEGIN IMMEDIATE");
    const version = versionOf(db);
    if (version === 0) {
      db.run(makeSchema(newCursorSecret()));
      db.run(`PRAGMA application_id = ${applicationId}`);
      db.run(`PRAGMA user_version = ${schemaVersion}`);
    } else if (version < schemaVersion) {
      migrations.find(({ to }) => to === version + 1).run(db);
      db.run(`PRAGMA user_version = ${version + 1}`);
    }
    if (faults !== undefined)
      faultPoint(faults, "migrate");
    db.run("COMMIT");
  }
}, versionOf = (db) => db.prepare("PRAGMA user_version").get().user_version;
var init_prepare_store = __esm(() => {
  init_store_refused();
  init_connection();
  init_damage();
  init_disk_failure();
  init_fault_point();
  init_store_files();
  init_store_lock();
  init_migrations();
  init_schema();
});

// src/engines/sqlite/disk/file-watch.ts
import { statSync as statSync2 } from "fs";

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
    return new CubbyError("unavailable", "The files of the store are not in their place; nothing was applied.", {
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
var lookEveryMs = 1000, isInPlace = ({ path, device, inode }) => {
  try {
    const found = statSync2(path, { bigint: true, throwIfNoEntry: false });
    return found !== undefined && found.dev === device && found.ino === inode;
  } catch (error) {
    return error.code !== "ENOTDIR";
  }
};
var init_file_watch = __esm(() => {
  init_errors();
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
var linesMax = 100, showKey2 = ({ hashKey, rangeKey }) => rangeKey === noRangeKey ? `the record with hashKey ${JSON.stringify(hashKey)}` : `the record with hashKey ${JSON.stringify(hashKey)} and rangeKey ${JSON.stringify(rangeKey)}`, damagedRecord = (key) => new CubbyError("store_damaged", `The store is damaged: ${showKey2(key)} is not as it was written.`, {
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

// src/core/names.ts
var pattern2, isName = (name) => typeof name === "string" && pattern2.test(name) && !name.startsWith("_"), parseName = (name, field) => {
  if (typeof name !== "string" || !pattern2.test(name)) {
    throw new CubbyError("invalid_name", `${field} is ${describeValue(name)}; a name matches [a-z0-9_-]{1,64}.`, {
      field,
      hint: 'Use 1 to 64 lower-case letters, digits, "_" or "-".'
    });
  }
  if (name.charCodeAt(0) === 95) {
    throw new CubbyError("reserved_name", `${field} is "${name}"; names that start with "_" are reserved.`, {
      field,
      hint: `Drop the leading "_": "${name.replace(/^_+/, "") || "name"}".`
    });
  }
  return name;
};
var init_names = __esm(() => {
  init_errors();
  pattern2 = /^[a-z0-9_-]{1,64}$/;
});

// src/core/api-keys/api-key.ts
import { createHash, randomBytes as randomBytes2 } from "crypto";
var prefixes, alphabet = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz", pattern3, checksumLength = 6, randomBase62 = (length) => {
  let text = "";
  while (text.length < length) {
    for (const byte of randomBytes2(length)) {
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
  throw new CubbyError("invalid_request", `${field} ${message}`, { field, hint });
}, parseKeyKind = (value) => value === "secret" || value === "public" ? value : refuse2("kind", `is ${describeValue(value)}; it takes "secret" or "public".`, "A public key reads, a secret key reads and writes."), parseKeyName = (value) => {
  if (value === undefined || value === null)
    return null;
  if (typeof value !== "string")
    return refuse2("name", `is ${describeValue(value)}; it takes a string.`);
  const characters = [...value].length;
  if (characters < 1 || characters > keyNameCharactersMax || !value.isWellFormed()) {
    return refuse2("name", `takes 1 to ${keyNameCharactersMax} well-formed characters.`);
  }
  return value;
}, parseExpiresAt = (value, nowMs) => {
  if (value === undefined || value === null)
    return null;
  if (!Number.isSafeInteger(value)) {
    return refuse2("expiresAt", `is ${describeValue(value)}; it takes epoch milliseconds, an integer.`);
  }
  if (value <= nowMs) {
    const seconds = value < nowMs / 100 && value * 1000 > nowMs;
    return refuse2("expiresAt", "is in the past; it takes a time in the future.", seconds ? "It looks like seconds; give milliseconds." : undefined);
  }
  return value;
}, parseKeyDatabases = (value) => {
  if (value === undefined || value === null)
    return null;
  if (!Array.isArray(value) || value.length < 1 || value.length > keyDatabasesMax) {
    return refuse2("databases", `is ${Array.isArray(value) ? `an array of ${value.length}` : describeValue(value)}; it takes 1 to ${keyDatabasesMax} names.`, "Leave databases out to allow all of them.");
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

// src/engines/sqlite/registry/registry-cache.ts
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
var registryLeaseMs = 100, leaseMarginMs = 50, remember = (cache, name, value, most) => {
  if (cache.size >= most)
    cache.delete(cache.keys().next().value);
  cache.set(name, value);
};
var init_registry_cache = __esm(() => {
  init_api_key();
  init_limits();
});

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

// src/engines/sqlite/open-store.ts
class OpenStore {
  db;
  role;
  damage;
  watch;
  snapshot;
  registry;
  rowCheck;
  cursorSeal;
  #channel;
  constructor({ db, channel, role, damage, log }) {
    this.db = db;
    this.role = role;
    this.damage = damage;
    this.#channel = channel;
    db.run("PRAGMA query_only = ON");
    this.snapshot = new Snapshot(db, role === "owner");
    channel.onCommit = (commands) => {
      this.snapshot.noteCommit();
      if (commands.some(makesCachesStale))
        this.registry.forgetEpoch();
    };
    channel.onDamage = (cause) => damage.note(cause);
    this.registry = new RegistryCache(db, this.snapshot, role === "guest" ? 0 : registryLeaseMs);
    this.rowCheck = new RowCheck(log, acceptsUnchecked(db));
    this.cursorSeal = new CursorSeal(readCursorKey(db));
    this.watch = role === "guest" ? undefined : new FileWatch(db.path, log);
  }
  get channel() {
    this.watch?.hold();
    return this.#channel;
  }
  all(sql, ...values) {
    try {
      this.snapshot.renew();
      return this.db.prepare(sql).all(...values);
    } catch (error) {
      throw this.damage.explain(error);
    }
  }
  epoch() {
    try {
      return this.registry.epoch();
    } catch (error) {
      throw this.damage.explain(error);
    }
  }
  fence(caller, table) {
    const stamp = caller.apiKey?.stamp ?? this.epoch();
    return {
      stamp: table === undefined ? stamp : Math.min(stamp, table.stamp),
      keySeq: caller.apiKey?.seq ?? null,
      tableId: table?.id ?? null
    };
  }
}
var init_open_store = __esm(() => {
  init_cursor_seal();
  init_file_watch();
  init_add_checksums();
  init_row_check();
  init_registry_cache();
  init_command();
});

// src/core/records/expiry.ts
var isExpired = (ttlSeconds, nowMs) => ttlSeconds !== null && ttlSeconds * 1000 <= nowMs, nowSeconds = (nowMs) => Math.floor(nowMs / 1000);

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

// src/engines/sqlite/records/read-statements.ts
var comparedBytesMax = 4096, isInTtlIndex = `EXISTS (
  SELECT 1 FROM records AS x INDEXED BY records_by_ttl WHERE x.ttl = records.ttl AND x.id = records.id)`, isConfirmed, columnsOf = (select) => `
  CAST(hash_key AS TEXT) AS hashKey, CAST(range_key AS TEXT) AS rangeKey, updated_at AS updatedAtMs, ttl AS ttlSeconds,
  CASE WHEN ttl <= ?1 THEN CASE WHEN ${isInTtlIndex} THEN id ELSE -id END ${select === "data" ? "ELSE data" : `WHEN octet_length(data) <= ${comparedBytesMax} THEN data ELSE CASE WHEN ${isConfirmed} THEN id ELSE -id END`} END AS data`, between = (column, descending) => descending ? `${column} >= ?4 AND (${column}, id) < (?5, ?6) ORDER BY ${column} DESC, id DESC` : `(${column}, id) > (?4, ?6) AND ${column} < ?5 ORDER BY ${column}, id`, rowsOf = (index, descending) => {
  if (index === "primary") {
    return `hash_key = CAST(?3 AS BLOB) AND range_key >= ?4 AND range_key < ?5
      ORDER BY range_key${descending ? " DESC" : ""}`;
  }
  if (index === "t")
    return between("updated_at", descending);
  return `${index}_hash = CAST(?3 AS BLOB) AND ${between(`${index}_range`, descending)}`;
}, scanSql = (select, index, descending) => `SELECT ${columnsOf(select)} FROM records WHERE table_id = ?2 AND ${rowsOf(index, descending)}`, liveIds = (index, descending) => `
  SELECT id FROM records
  WHERE table_id = ?2 AND id NOT IN (SELECT id FROM records INDEXED BY records_by_ttl WHERE ttl <= ?1)
    AND ${rowsOf(index, descending)}`, countSql = (index, descending) => `SELECT count(*) AS count FROM (${liveIds(index, descending)} LIMIT ?7)`, nthIdSql = (index, descending) => `${liveIds(index, descending)} LIMIT 1 OFFSET ?7`, expiredRowsSql = `
  SELECT count(*) AS count FROM (SELECT 1 FROM records INDEXED BY records_by_ttl WHERE ttl <= ?1 LIMIT ?2)`, byKey = "table_id = ?1 AND hash_key = CAST(?2 AS BLOB) AND range_key = CAST(?3 AS BLOB)", idSql, inFullSql = `
  SELECT CAST(hash_key AS TEXT) AS hashKey, CAST(range_key AS TEXT) AS rangeKey, updated_at AS updatedAtMs,
    ttl AS ttlSeconds, data
  FROM records WHERE id = ?1`;
var init_read_statements = __esm(() => {
  isConfirmed = `EXISTS (
    SELECT 1 FROM records AS r NOT INDEXED WHERE r.id = records.id AND r.table_id = records.table_id
      AND r.hash_key = records.hash_key AND r.range_key = records.range_key AND r.updated_at = records.updated_at)
  AND EXISTS (
    SELECT 1 FROM records AS k INDEXED BY records_by_key WHERE k.table_id = records.table_id
      AND k.hash_key = records.hash_key AND k.range_key = records.range_key AND k.id = records.id)
  AND EXISTS (
    SELECT 1 FROM records AS t INDEXED BY records_by_time
    WHERE t.table_id = records.table_id AND t.updated_at = records.updated_at AND t.id = records.id)
  AND (ttl IS NULL OR ${isInTtlIndex})`;
  idSql = `SELECT id FROM records WHERE ${byKey}`;
});

// src/engines/sqlite/records/scanner.ts
class Scanner {
  #db;
  #rowCheck;
  #statements = {
    data: { ascending: new Map, descending: new Map },
    keys: { ascending: new Map, descending: new Map }
  };
  constructor(db, rowCheck) {
    this.#db = db;
    this.#rowCheck = rowCheck;
  }
  scan(table, scan, rowsMax, nowMs) {
    const records = [];
    return this.#fill(records, new PageMeter(records), "data", table, scan, rowsMax, nowMs);
  }
  scanKeys(table, scan, rowsMax, nowMs) {
    const records = [];
    return this.#fill(records, new PageMeter(records, false), "keys", table, scan, rowsMax, nowMs);
  }
  count(table, scan, rowsMax, nowMs) {
    if (this.#hasFewExpired(nowMs))
      return this.#countEntries(table, scan, rowsMax, nowMs);
    const { records, next } = this.scanKeys(table, scan, Math.min(rowsMax, pageRowsMax), nowMs);
    return { count: records.length, next };
  }
  #hasFewExpired(nowMs) {
    const statement = this.#db.prepare(expiredRowsSql);
    return statement.get(nowSeconds(nowMs), fewExpiredRows + 1).count <= fewExpiredRows;
  }
  #countEntries(table, scan, rowsMax, nowMs) {
    const { index, descending } = scan;
    const bounds = boundsOf(table, scan, nowMs);
    if (index === "primary")
      bounds.push(0);
    const counted = this.#db.prepare(countSql(index, descending));
    const { count } = counted.get(...bounds, rowsMax + 1);
    if (count <= rowsMax)
      return { count, next: undefined };
    const nth = this.#db.prepare(nthIdSql(index, descending));
    const { id } = nth.get(...bounds, rowsMax - 1);
    return { count: rowsMax, next: this.#positionAt(table, id, index) };
  }
  #fill(records, meter, select, table, scan, rowsMax, nowMs) {
    const now = nowSeconds(nowMs);
    let expired = 0;
    let last;
    for (const row of this.#statement(select, scan).iterate(...boundsOf(table, scan, nowMs))) {
      const isFull = records.length === rowsMax;
      const isExpired = row.ttlSeconds !== null && row.ttlSeconds <= now;
      const isInDoubt = isExpired && row.data < 0;
      if (isExpired && !(isInDoubt && isFull)) {
        if (isInDoubt)
          this.#readInFull(table.id, -row.data);
        if (++expired > pageExpiredRowsMax)
          return { records, next: this.#positionOf(table, last, scan.index) };
      } else {
        if (!isFull) {
          if (typeof row.data === "string")
            this.#rowCheck.take(table.id, row);
          else if (row.data < 0)
            this.#confirm(table.id, row);
        }
        if (isFull || !meter.takes(row)) {
          return { records, next: this.#positionOf(table, last, scan.index) };
        }
        records.push(row);
      }
      last = row;
    }
    return { records, next: undefined };
  }
  #statement(select, { index, descending }) {
    const { [descending ? "descending" : "ascending"]: statements } = this.#statements[select];
    let statement = statements.get(index);
    if (statement === undefined) {
      statement = this.#db.prepare(scanSql(select, index, descending));
      statements.set(index, statement);
    }
    return statement;
  }
  #confirm(tableId, row) {
    const id = -row.data;
    row.data = id;
    const { data } = this.#db.prepare(inFullSql).get(id);
    this.#rowCheck.take(tableId, { ...row, data });
  }
  #readInFull(tableId, id) {
    const record = this.#db.prepare(inFullSql).get(id);
    if (record === null)
      throw new CubbyError("store_damaged", damageMessage, { hint: damageHint });
    this.#rowCheck.take(tableId, record);
    if (this.#idOf(tableId, record) !== id)
      throw damagedRecord(record);
    return record;
  }
  #positionOf(table, row, index) {
    if (typeof row.data !== "string")
      return this.#positionAt(table, Math.abs(row.data), index);
    const record = row;
    return positionIn(table, record, this.#idOf(table.id, record), index);
  }
  #positionAt(table, id, index) {
    return positionIn(table, this.#readInFull(table.id, id), id, index);
  }
  #idOf(tableId, record) {
    const { hashKey, rangeKey } = record;
    const found = this.#db.prepare(idSql).get(tableId, hashKey, rangeKey);
    if (found === null)
      throw damagedRecord(record);
    return found.id;
  }
}
var boundsOf = (table, scan, nowMs) => {
  const hash = scan.index === "t" ? "" : scan.hash;
  const values = [nowSeconds(nowMs), table.id, hash, scan.low, scan.high];
  if (scan.index !== "primary")
    values.push(scan.descending ? scan.highId : scan.lowId);
  return values;
}, positionIn = (table, record, id, index) => {
  if (index === "primary")
    return { range: record.rangeKey, id };
  if (index === "t")
    return { range: record.updatedAtMs, id };
  return { range: readIndexEntries(table.indices, record)[2 * slots.indexOf(index) + 1], id };
}, fewExpiredRows = 1000;
var init_scanner = __esm(() => {
  init_errors();
  init_limits();
  init_record_json();
  init_indices();
  init_damage();
  init_read_statements();
  init_row_check();
});

// src/engines/sqlite/records/records.ts
class SqliteRecords {
  #store;
  #scanner;
  #record;
  constructor(store) {
    this.#store = store;
    this.#scanner = new Scanner(store.db, store.rowCheck);
    this.#record = store.db.prepare(`SELECT data, ttl, updated_at FROM records
       WHERE table_id = ?1 AND hash_key = CAST(?2 AS BLOB) AND range_key = CAST(?3 AS BLOB)`);
  }
  get(table, key, nowMs) {
    try {
      this.#store.snapshot.refresh();
      return this.#readOne(table.id, key, nowMs);
    } catch (error) {
      throw this.#store.damage.explain(error);
    }
  }
  find(table, keys, nowMs) {
    return this.#read(() => {
      const found = new FoundRecords;
      for (const key of keys)
        if (!found.add(this.#readOne(table.id, key, nowMs)))
          break;
      return found.entries;
    });
  }
  #readOne(tableId, { hashKey, rangeKey }, nowMs) {
    const row = this.#record.get(tableId, hashKey, rangeKey);
    if (row === null)
      return;
    const record = { hashKey, rangeKey, data: row.data, ttlSeconds: row.ttl, updatedAtMs: row.updated_at };
    this.#store.rowCheck.take(tableId, record);
    return isExpired(row.ttl, nowMs) ? undefined : record;
  }
  scan(table, scan, rowsMax, nowMs) {
    return this.#read(() => this.#scanner.scan(table, scan, rowsMax, nowMs));
  }
  scanKeys(table, scan, rowsMax, nowMs) {
    return this.#read(() => this.#scanner.scanKeys(table, scan, rowsMax, nowMs));
  }
  count(table, scan, rowsMax, nowMs) {
    return this.#read(() => this.#scanner.count(table, scan, rowsMax, nowMs));
  }
  write(caller, table, operations, nowMs) {
    if (this.#store.role === "guest")
      throw new Error("a guest of the store does not write records");
    let bytes = 0;
    for (const operation of operations)
      if (operation.op === "put")
        bytes += operation.data.length;
    const command = { kind: "write", fence: this.#store.fence(caller, table), nowMs, operations };
    return this.#store.channel.submit(caller.orgId, bytes, command);
  }
  #read(read) {
    try {
      this.#store.snapshot.refresh();
      return read();
    } catch (error) {
      throw this.#store.damage.explain(error);
    }
  }
}
var init_records = __esm(() => {
  init_find();
  init_scanner();
});

// src/engines/sqlite/registry/api-keys.ts
class SqliteApiKeys {
  #store;
  constructor(store) {
    this.#store = store;
  }
  find(text) {
    this.#store.watch?.hold();
    try {
      return this.#store.registry.findApiKey(text);
    } catch (error) {
      throw this.#store.damage.explain(error);
    }
  }
  create(caller, key, nowMs) {
    const { orgId } = caller;
    return this.#store.channel.submit(orgId, 0, {
      kind: "createApiKey",
      fence: this.#store.fence(caller),
      nowMs,
      orgId,
      key
    });
  }
  list(orgId, beforeSeq, limit) {
    const stamp = this.#store.epoch();
    return this.#store.all(`SELECT ${keyColumns} FROM api_keys WHERE org_id = ?1 AND seq < ?2 ORDER BY seq DESC LIMIT ?3`, ...[orgId, beforeSeq ?? Number.MAX_SAFE_INTEGER, limit]).map((row) => toApiKey(row, stamp));
  }
  async revoke(caller, id, nowMs) {
    const { orgId } = caller;
    const command = { kind: "revokeApiKey", fence: this.#store.fence(caller), nowMs, orgId, id };
    const revoked = await this.#store.channel.submit(orgId, 0, command);
    if (this.#store.role === "guest")
      await Bun.sleep(registryLeaseMs + leaseMarginMs);
    return revoked;
  }
  noteUse(uses) {
    return this.#store.channel.submitMaintenance({ kind: "recordKeyUse", uses });
  }
}
var init_api_keys = __esm(() => {
  init_registry_cache();
});

// src/engines/sqlite/registry/organizations.ts
class SqliteOrganizations {
  #store;
  constructor(store) {
    this.#store = store;
  }
  create(name, keys, nowMs) {
    return this.#store.channel.submitMaintenance({
      kind: "createOrganization",
      nowMs,
      name,
      keys,
      onlyIfFirst: false
    });
  }
  bootstrap(name, keys, nowMs) {
    return this.#store.channel.submitMaintenance({
      kind: "createOrganization",
      nowMs,
      name,
      keys,
      onlyIfFirst: true
    });
  }
  find(name) {
    return this.#store.all("SELECT id, name, created_at FROM organizations WHERE name = ?1", name).map(toOrganization)[0];
  }
  findById(id) {
    return this.#store.all("SELECT id, name, created_at FROM organizations WHERE id = ?1", id).map(toOrganization)[0];
  }
  list() {
    return this.#store.all("SELECT id, name, created_at FROM organizations ORDER BY name").map(toOrganization);
  }
}
var init_organizations = () => {};

// src/engines/sqlite/registry/tables.ts
class SqliteTables {
  #store;
  constructor(store) {
    this.#store = store;
  }
  find(orgId, db, name) {
    try {
      return this.#store.registry.findTable(orgId, db, name);
    } catch (error) {
      throw this.#store.damage.explain(error);
    }
  }
  findDeleted(orgId, db, name, nowMs) {
    const stamp = this.#store.epoch();
    return this.#store.all(`SELECT ${tableColumns} FROM tables
       WHERE org_id = ?1 AND db = ?2 AND name = ?3 AND deleted_at > ?4 AND purging = 0 ORDER BY deleted_at DESC LIMIT 1`, ...[orgId, db, name, nowMs - recoveryMs]).map((row) => toTable(row, stamp))[0];
  }
  create(caller, db, name, indices, nowMs) {
    const { orgId } = caller;
    const command = { kind: "createTable", fence: this.#store.fence(caller), nowMs, orgId, db, name, indices };
    return this.#store.channel.submit(orgId, 0, command);
  }
  delete(caller, db, name, nowMs) {
    const { orgId } = caller;
    return this.#store.channel.submit(orgId, 0, {
      kind: "deleteTable",
      fence: this.#store.fence(caller),
      nowMs,
      orgId,
      db,
      name
    });
  }
  restore(caller, db, name, deletedAtMs, nowMs) {
    const { orgId } = caller;
    const command = {
      kind: "restoreTable",
      fence: this.#store.fence(caller),
      nowMs,
      orgId,
      db,
      name,
      deletedAtMs
    };
    return this.#store.channel.submit(orgId, 0, command);
  }
  list({ orgId, db, after, limit }) {
    const stamp = this.#store.epoch();
    return this.#store.all(`SELECT ${tableColumns} FROM tables
       WHERE org_id = ?1 AND db = ?2 AND name > ?3 AND deleted_at IS NULL ORDER BY name LIMIT ?4`, ...[orgId, db, after?.name ?? "", limit]).map((row) => toTable(row, stamp));
  }
  listDeleted({ orgId, db, after, limit }, nowMs) {
    const stamp = this.#store.epoch();
    return this.#store.all(`SELECT ${tableColumns} FROM tables
       WHERE org_id = ?1 AND db = ?2 AND (name, deleted_at) > (?3, ?4) AND deleted_at > ?5 AND purging = 0
       ORDER BY name, deleted_at LIMIT ?6`, ...[orgId, db, after?.name ?? "", after?.deletedAtMs ?? 0, nowMs - recoveryMs, limit]).map((row) => toTable(row, stamp));
  }
  listDatabases(orgId, after, limit) {
    const next = this.#store.db.prepare("SELECT db FROM tables WHERE org_id = ?1 AND db > ?2 AND deleted_at IS NULL ORDER BY db LIMIT 1");
    const names = [];
    let last = after ?? "";
    try {
      this.#store.snapshot.renew();
      while (names.length < limit) {
        const row = next.get(orgId, last);
        if (row === null)
          break;
        last = row.db;
        names.push(last);
      }
    } catch (error) {
      throw this.#store.damage.explain(error);
    }
    return names;
  }
}
var init_tables = __esm(() => {
  init_limits();
});

// src/engines/sqlite/transfer/dump.ts
async function* dumpRecords(db, rowCheck, tableId, afterId) {
  const table = db.prepare("SELECT indices FROM tables WHERE id = ?1").get(tableId);
  const indices = JSON.parse(table?.indices ?? "{}");
  const rows = db.prepare(`
    WITH ids AS MATERIALIZED (SELECT id FROM records WHERE table_id = ?1 AND id > ?2 ORDER BY id)
    SELECT ids.id, CAST(r.hash_key AS TEXT) AS hashKey, CAST(r.range_key AS TEXT) AS rangeKey, r.updated_at AS updatedAtMs,
      r.ttl AS ttlSeconds, r.data
    FROM ids LEFT JOIN records r ON r.id = ids.id`);
  let chunk = [];
  let bytes = 0;
  for (const row of orRefuseDamaged(db.path, rows.iterate(tableId, afterId))) {
    if (row.hashKey === null)
      throw new StoreDamaged(`${db.path} is damaged: the row ${row.id} of table ${tableId} is gone`);
    rowCheck.take(tableId, row);
    chunk.push({ ...row, tableId, entries: readIndexEntries(indices, row) });
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
function* orRefuseDamaged(path, rows) {
  try {
    yield* rows;
  } catch (error) {
    throw isDamage(error) ? damagedStore(path, error) : error;
  }
}
var chunkBytes, chunkRows = 500, openDump = (path, rowCheck) => {
  const db = new Connection(path, 4096);
  db.run("PRAGMA query_only = ON");
  db.run("BEGIN");
  db.prepare("SELECT 1 FROM meta").get();
  return {
    cursorKey: () => readCursorKey(db),
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
    records: (tableId, afterId) => dumpRecords(db, rowCheck, tableId, afterId),
    countRecords: (tableId) => db.prepare("SELECT count(*) AS n FROM records WHERE table_id = ?1").get(tableId).n,
    async close() {
      try {
        db.run("COMMIT");
      } catch {
        if (db.inTransaction)
          db.run("ROLLBACK");
      }
      db.close();
    }
  };
};
var init_dump = __esm(() => {
  init_store_refused();
  init_indices();
  init_connection();
  init_damage();
  chunkBytes = 1024 * 1024;
});

// src/engines/sqlite/transfer/transfer.ts
class SqliteTransfer {
  importBatchRecords = 1000;
  #store;
  constructor(store) {
    this.#store = store;
  }
  async openDump() {
    return openDump(this.#store.db.path, this.#store.rowCheck);
  }
  async load(rows) {
    if (this.#store.role === "guest")
      throw new Error("a guest of the store does not write records");
    const { cursorKey, ...others } = rows;
    if (cursorKey !== undefined) {
      const { secret, acceptsPlain } = cursorKey;
      const secretHex = Buffer.from(secret).toString("hex");
      await this.#store.channel.submitMaintenance({ kind: "loadCursorKey", secretHex, acceptsPlain });
      this.#store.cursorSeal = new CursorSeal(cursorKey);
    }
    await this.#store.channel.submitMaintenance({ kind: "load", rows: others });
  }
  lastRecordId(tableId) {
    return this.#store.all("SELECT max(id) AS id FROM records WHERE table_id = ?1", tableId)[0].id ?? 0;
  }
}
var init_transfer = __esm(() => {
  init_cursor_seal();
  init_dump();
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

// src/engines/sqlite/write/write-queue.ts
class WriteQueue {
  #queued = new FairQueue;
  #requests = new Shares(writeQueueRequestsMax);
  #bytes = new Shares(writeQueueBytesMax);
  get empty() {
    return this.#queued.size === 0;
  }
  push(orgId, write) {
    write.orgId = orgId;
    if (orgId !== maintenanceOrgId) {
      const keySeq = keyOf(write);
      if (!this.#requests.hasRoom(orgId, keySeq, 1) || !this.#bytes.tryTake(orgId, keySeq, write.bytes))
        throw full();
      this.#requests.take(orgId, keySeq, 1);
    }
    this.#queued.push(orgId, keyOf(write), write);
  }
  take(inFlight) {
    const requestsMax = commitRequestsMax - inFlight.requests;
    const bytesMax = commitBytesMax - inFlight.bytes;
    const taken = [];
    let bytes = 0;
    for (let next = this.#queued.peek();next !== undefined && taken.length < requestsMax; next = this.#queued.peek()) {
      const isAlone = inFlight.requests + taken.length === 0;
      if (!isAlone && bytes + next.bytes > bytesMax)
        break;
      this.#queued.shift();
      this.#giveBack(next);
      taken.push(next);
      bytes += next.bytes;
    }
    return taken;
  }
  #giveBack(write) {
    const orgId = write.orgId;
    if (orgId === maintenanceOrgId)
      return;
    const keySeq = keyOf(write);
    this.#requests.give(orgId, keySeq, 1);
    this.#bytes.give(orgId, keySeq, write.bytes);
  }
}
var maintenanceOrgId = 0, full = () => new CubbyError("unavailable", "The write queue is full; nothing was applied.", {
  hint: repeatLater
}), keyOf = ({ command }) => ("fence" in command) ? command.fence.keySeq ?? 0 : 0;
var init_write_queue = __esm(() => {
  init_errors();
  init_hint();
  init_limits();
});

// src/engines/sqlite/write/process-write-channel.ts
class ProcessWriteChannel {
  #channel;
  #pending = new Map;
  #next = 1;
  #waiting = emptyGroup();
  #closed = false;
  #ownerIsReady = true;
  #readyListeners = [];
  onCommit = () => {};
  onDamage = () => {};
  constructor(channel, damage) {
    this.#channel = channel;
    channel.onMessage(({ outcomes, damage: cause, ready }) => {
      if (cause !== undefined)
        damage.noteFromElsewhere(cause);
      if (ready !== undefined)
        this.#noteOwner(ready);
      this.#answer(outcomes);
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
    return !this.#closed && this.#ownerIsReady;
  }
  onReadyChange(listener) {
    this.#readyListeners.push(listener);
  }
  #noteOwner(ready) {
    if (ready === this.#ownerIsReady)
      return;
    this.#ownerIsReady = ready;
    for (const listener of this.#readyListeners)
      listener(ready);
  }
  submit(orgId, bytes, command) {
    return new Promise((resolve, reject) => {
      if (this.#closed)
        throw new CubbyError("unavailable", "The server is stopping; nothing was applied.");
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
  submitMaintenance(command) {
    return this.submit(maintenanceOrgId, 0, command);
  }
  #send() {
    const { commands, numbers, orgIds, bytes } = this.#waiting;
    this.#waiting = emptyGroup();
    if (!this.#closed)
      this.#channel.send({ group: encodeGroup(commands), numbers, orgIds, bytes });
  }
  #answer(outcomes) {
    const answered = outcomes.map(([number, outcome]) => ({ waiting: this.#pending.get(number), number, outcome }));
    try {
      this.onCommit(answered.flatMap(({ waiting }) => waiting === undefined ? [] : [waiting.command]));
    } catch {}
    for (const { waiting, number, outcome } of answered) {
      this.#pending.delete(number);
      if ("value" in outcome)
        waiting?.resolve(outcome.value);
      else
        waiting?.reject(new CubbyError(outcome.failure.code, outcome.failure.message, { hint: outcome.failure.hint }));
    }
  }
  async close() {
    this.#closed = true;
  }
}
var unknownOutcome = () => new CubbyError("outcome_unknown", "The writer went away; the write may or may not have been applied.", {
  hint: "Read the record before repeating the request."
}), noCommands, emptyGroup = () => ({
  commands: [],
  group: "",
  numbers: [],
  orgIds: [],
  bytes: []
}), serveWorker = (port, channel, { damage, refusal }) => {
  let answered = [];
  const answer = (number, outcome) => {
    if (answered.length === 0) {
      setImmediate(() => {
        channel.send({ outcomes: answered });
        answered = [];
      });
    }
    answered.push([number, outcome]);
  };
  const fail = (number, { code, message, hint, cause }) => answer(number, { failure: { code, message, hint, cause } });
  damage.onFirst((cause) => channel.send({ outcomes: [], damage: cause }));
  port.onReadyChange((ready) => channel.send({ outcomes: [], ready }));
  channel.onMessage(({ group, numbers, orgIds, bytes, damage: met }) => {
    if (met !== undefined)
      damage.noteFromElsewhere(met);
    else if (numbers.length === 0)
      channel.send({ outcomes: [], damage: damage.cause, ready: port.ready });
    const commands = decodeGroup(group);
    const refused = refusal();
    for (let i = 0;i < commands.length; i++) {
      const number = numbers[i];
      if (refused !== undefined) {
        fail(number, refused);
        continue;
      }
      port.submit(orgIds[i], bytes[i], commands[i]).then(async (value) => {
        if (makesCachesStale(commands[i]))
          await Bun.sleep(registryLeaseMs + leaseMarginMs);
        answer(number, { value });
      }, (error) => fail(number, error));
    }
  });
};
var init_process_write_channel = __esm(() => {
  init_errors();
  init_registry_cache();
  init_command();
  init_write_queue();
  noCommands = { group: encodeGroup([]), numbers: [], orgIds: [], bytes: [] };
});

// src/engines/sqlite/end-thread.ts
var endMsMax = 2000, endThread = (thread) => new Promise((resolve) => {
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

// src/engines/sqlite/checkpoint/checkpoint-policy.ts
class CheckpointPolicy {
  #enabled;
  #checkpoint = "none";
  #reset = "none";
  #syncsRunning = 0;
  #walPages = 0;
  #pendingPages = 0;
  #forceResetAtPages = walPagesMax;
  #isTidying = false;
  #commits = 0;
  #commitsBeforeQuiet = 0;
  #awaitsQuiet = false;
  #writerRuns = true;
  #checkpointerRuns;
  #failed = false;
  #closing = false;
  constructor(enabled) {
    this.#enabled = enabled;
    this.#checkpointerRuns = enabled;
  }
  get holdsWrites() {
    return this.#reset !== "none";
  }
  get writerRuns() {
    return this.#writerRuns;
  }
  get failed() {
    return this.#failed;
  }
  get isAtRest() {
    return this.#checkpoint === "none" && this.#reset !== "running" && this.#syncsRunning === 0;
  }
  on(event, traffic) {
    const actions = [];
    this.#apply(event, traffic, actions);
    if (this.#reset === "due" && traffic.inFlight === 0 && this.isAtRest && !this.#failed) {
      this.#reset = "running";
      actions.push({ do: "reset" });
    }
    return actions;
  }
  #apply(event, traffic, actions) {
    switch (event.kind) {
      case "committed":
        this.#commits++;
        this.#noteWal(event.walPages, event.pendingPages, actions);
        if (event.reopened)
          this.#sync("reopened", actions);
        if (isIdle(traffic))
          this.#awaitQuiet(actions);
        break;
      case "checkpointed":
        if (event.fault === "disk")
          this.#fail();
        if (!this.#failed && (this.#isTidying || this.#walPages >= resetAtPages)) {
          this.#checkpoint = "syncing";
          this.#sync("ahead", actions);
        } else
          this.#endCheckpoint(traffic);
        break;
      case "reset":
        this.#reset = "none";
        this.#pendingPages = event.pendingPages;
        if (event.fault === "disk")
          this.#fail();
        break;
      case "synced":
        this.#syncsRunning--;
        if (!event.ok)
          this.#fail();
        this.#endSync(event.reason, traffic);
        break;
      case "quiet":
        this.#awaitsQuiet = false;
        this.#tidy(traffic, actions);
        break;
      case "writerLost":
        this.#writerRuns = false;
        if (this.#reset !== "none") {
          this.#reset = "none";
          this.#forceResetAtPages = walPagesMax;
        }
        break;
      case "writerStarted":
        this.#sync("writer", actions);
        break;
      case "checkpointerLost":
        this.#checkpointerRuns = false;
        this.#endCheckpoint(traffic);
        break;
      case "checkpointerStarted":
        this.#sync("checkpointer", actions);
        break;
      case "failed":
        this.#fail();
        break;
      case "closing":
        this.#closing = true;
        break;
    }
  }
  #noteWal(walPages, pendingPages, actions) {
    if (walPages < this.#walPages)
      this.#forceResetAtPages = walPagesMax;
    this.#walPages = walPages;
    this.#pendingPages = pendingPages;
    if (this.#reset !== "none" || !this.#enabled || this.#failed)
      return;
    const wantsReset = walPages >= resetAtPages;
    if (walPages >= this.#forceResetAtPages) {
      this.#reset = "due";
      this.#forceResetAtPages = walPages + resetAtPages;
    } else if (this.#checkpoint !== "none") {} else if (wantsReset && pendingPages > 0 && pendingPages <= resetPendingPagesMax) {
      this.#reset = "due";
    } else if (pendingPages >= (wantsReset ? resetPendingPagesMax : checkpointAtPages)) {
      this.#startCheckpoint(actions);
    }
  }
  #startCheckpoint(actions) {
    if (!this.#checkpointerRuns)
      return;
    this.#checkpoint = "running";
    actions.push({ do: "checkpoint" });
  }
  #endCheckpoint(traffic) {
    this.#checkpoint = "none";
    if (this.#isTidying && isIdle(traffic) && this.#takesWrites)
      this.#reset = "due";
    this.#isTidying = false;
  }
  #sync(reason, actions) {
    if (!this.#enabled)
      this.#endSync(reason, { inFlight: 0, queued: false });
    else if (!this.#failed) {
      this.#syncsRunning++;
      actions.push({ do: "sync", reason });
    }
  }
  #endSync(reason, traffic) {
    if (reason === "writer")
      this.#writerRuns = true;
    else if (reason === "checkpointer")
      this.#checkpointerRuns = true;
    else if (reason === "ahead" && this.#checkpoint === "syncing")
      this.#endCheckpoint(traffic);
  }
  get #takesWrites() {
    return this.#writerRuns && !this.#closing && !this.#failed;
  }
  #awaitQuiet(actions) {
    if (!this.#enabled || !this.#takesWrites || this.#awaitsQuiet || this.#pendingPages < resetPendingPagesMax)
      return;
    this.#awaitsQuiet = true;
    this.#commitsBeforeQuiet = this.#commits;
    actions.push({ do: "awaitQuiet" });
  }
  #tidy(traffic, actions) {
    const isQuiet = isIdle(traffic) && this.#commits === this.#commitsBeforeQuiet && this.#reset === "none" && this.#checkpoint === "none";
    if (!isQuiet)
      this.#awaitQuiet(actions);
    else if (this.#takesWrites && this.#checkpointerRuns) {
      this.#isTidying = true;
      this.#startCheckpoint(actions);
    }
  }
  #fail() {
    if (!this.#enabled)
      return;
    this.#failed = true;
    if (this.#reset === "due")
      this.#reset = "none";
  }
}
var checkpointAtPages = 16000, resetAtPages = 32000, resetPendingPagesMax = 1000, walPagesMax = 64000, quietMs = 100, isIdle = ({ inFlight, queued }) => inFlight === 0 && !queued;

// src/engines/sqlite/checkpoint/checkpointer.ts
import { fdatasync, openSync as openSync4 } from "fs";

class Checkpointer {
  #options;
  #policy;
  #file;
  #thread;
  #quietTimer;
  #closed = false;
  constructor(options) {
    this.#options = options;
    this.#policy = new CheckpointPolicy(options.enabled);
    this.#file = options.enabled ? openSync4(options.path, "r+") : -1;
  }
  get state() {
    return this.#policy;
  }
  note(event) {
    for (const action of this.#policy.on(event, this.#options.traffic())) {
      if (action.do === "checkpoint")
        this.#toThread({ checkpoint: true });
      else if (action.do === "sync")
        this.#syncFile(action.reason);
      else if (action.do === "reset")
        this.#options.sendReset();
      else
        this.#awaitQuiet();
    }
  }
  noteReset(pendingPages, fault) {
    this.#report(fault);
    this.note({ kind: "reset", pendingPages, fault: fault?.kind });
  }
  close() {
    this.#closed = true;
    clearTimeout(this.#quietTimer);
    this.note({ kind: "closing" });
  }
  async end() {
    if (this.#thread !== undefined)
      await endThread(this.#thread);
  }
  terminate() {
    this.#closed = true;
    this.#thread?.terminate();
  }
  #report(fault) {
    if (fault === undefined)
      return;
    const { cause, kind } = fault;
    if (kind === "damage")
      this.#options.onDamage(cause);
    else if (kind === "repeatable")
      this.#options.log("error", "checkpoint failed", { cause });
    else
      this.#options.onDiskFailure(cause);
  }
  #syncFile(reason) {
    fdatasync(this.#file, (error) => {
      if (error !== null)
        this.#options.onDiskFailure(`sync of cubby.db: ${error.message}`);
      this.note({ kind: "synced", reason, ok: error === null });
      this.#options.onEnd();
    });
  }
  #awaitQuiet() {
    this.#quietTimer = setTimeout(() => this.note({ kind: "quiet" }), quietMs);
    this.#quietTimer.unref();
  }
  #toThread(message) {
    this.#thread.postMessage(message);
  }
  async start() {
    if (!this.#options.enabled)
      return;
    const thread = new Worker(new URL("./checkpoint-thread.js", import.meta.url).href);
    this.#thread = thread;
    await new Promise((resolve, reject) => {
      thread.onmessage = (event) => {
        const message = event.data;
        if ("opened" in message)
          resolve();
        if (!("checkpointed" in message))
          return;
        this.#report(message.fault);
        this.note({ kind: "checkpointed", fault: message.fault?.kind });
        this.#options.onEnd();
      };
      thread.onerror = (event) => {
        thread.terminate();
        this.#options.log("error", "the checkpoint thread failed; starting another", { cause: event.message });
        reject(new Error(event.message));
        this.note({ kind: "checkpointerLost" });
        this.#options.onEnd();
        if (!this.#closed)
          setTimeout(() => void this.#restart(), restartPauseMs).unref();
      };
      const { path: open, faults } = this.#options;
      this.#toThread({ open, faults });
    });
  }
  async#restart() {
    if (this.#closed)
      return;
    try {
      await this.start();
      this.note({ kind: "checkpointerStarted" });
    } catch (error) {
      this.#options.log("error", "the checkpoint thread could not be started", { cause: String(error) });
    }
  }
}
var restartPauseMs = 1000;
var init_checkpointer = () => {};

// src/engines/sqlite/write/thread-write-channel.ts
class ThreadWriteChannel {
  #options;
  #log;
  #queue = new WriteQueue;
  #checkpointer;
  onCommit = () => {};
  onDamage = () => {};
  #writer;
  #inFlight = [];
  #bytesInFlight = 0;
  #acceptedThisTurn = 0;
  #sendScheduled = false;
  #readyListeners = [];
  #lastReady = true;
  #closing;
  #closed = false;
  #diskFailed = false;
  constructor(options) {
    this.#options = options;
    this.#log = (level, message, fields) => guard(() => options.log(level, message, fields));
    this.#checkpointer = new Checkpointer({
      path: options.path,
      log: this.#log,
      enabled: options.checkpoints,
      faults: options.faults,
      traffic: () => ({ inFlight: this.#inFlight.length, queued: !this.#queue.empty }),
      sendReset: () => this.#toWriter({ checkpoint: true }),
      onDamage: (cause) => guard(() => this.onDamage(cause)),
      onDiskFailure: (cause) => this.#endProcess({ cause, atOnce: true }),
      onEnd: () => {
        this.#noteReady();
        this.#noteRest();
      }
    });
  }
  static async open(options) {
    const channel = new ThreadWriteChannel(options);
    try {
      await Promise.all([channel.#startWriter(), channel.#checkpointer.start()]);
    } catch (error) {
      channel.#closed = true;
      channel.#writer.terminate();
      channel.#checkpointer.terminate();
      throw error;
    }
    return channel;
  }
  get ready() {
    const { writerRuns, failed } = this.#checkpointer.state;
    return writerRuns && !failed && !this.#closed;
  }
  onReadyChange(listener) {
    this.#readyListeners.push(listener);
  }
  #noteReady() {
    const { ready } = this;
    if (ready === this.#lastReady || this.#closed)
      return;
    this.#lastReady = ready;
    for (const listener of this.#readyListeners)
      guard(() => listener(ready));
  }
  get #isIdle() {
    return this.#inFlight.length === 0 && this.#queue.empty;
  }
  submit(orgId, bytes, command) {
    return new Promise((resolve, reject) => {
      if (!this.ready)
        throw unavailable();
      this.#queue.push(orgId, { command, bytes, resolve, reject });
      if (++this.#acceptedThisTurn >= sendAtRequests)
        this.#send();
      else
        this.#scheduleSend();
    });
  }
  submitMaintenance(command) {
    return this.submit(maintenanceOrgId, 0, command);
  }
  get #isAtRest() {
    return this.#isIdle && this.#checkpointer.state.isAtRest;
  }
  async close() {
    this.#closed = true;
    this.#checkpointer.close();
    if (!this.#isAtRest) {
      await new Promise((done) => {
        this.#closing = done;
      });
    }
    if (this.#checkpointer.state.failed)
      await new Promise(() => {});
    await Promise.all([endThread(this.#writer), this.#checkpointer.end()]);
  }
  #scheduleSend() {
    if (this.#sendScheduled)
      return;
    this.#sendScheduled = true;
    setImmediate(() => {
      this.#sendScheduled = false;
      this.#send();
    });
  }
  #send() {
    this.#acceptedThisTurn = 0;
    const { writerRuns, holdsWrites } = this.#checkpointer.state;
    if (!writerRuns || holdsWrites || this.#queue.empty)
      return;
    const group = this.#queue.take({ requests: this.#inFlight.length, bytes: this.#bytesInFlight });
    if (group.length === 0)
      return;
    for (const write of group) {
      this.#inFlight.push(write);
      this.#bytesInFlight += write.bytes;
    }
    this.#toWriter({ group: encodeGroup(group.map((write) => write.command)) });
  }
  #toWriter(message) {
    this.#writer.postMessage(message);
  }
  #onMessage(message) {
    if ("outcomes" in message) {
      const { walPages, pendingPages, reopened, failure } = message;
      const answered = this.#takeAnswered(decodeOutcomes(message.outcomes));
      this.#noteCommit(answered.map(({ write }) => write.command));
      if (failure !== undefined)
        this.#checkpointer.note({ kind: "failed" });
      this.#checkpointer.note({ kind: "committed", walPages, pendingPages, reopened });
      this.#send();
      this.#answer(answered);
      this.#noteRest();
      if (failure !== undefined)
        this.#endProcess({ cause: failure, atOnce: false });
    } else if ("checkpointed" in message) {
      this.#checkpointer.noteReset(message.pendingPages, message.fault);
      this.#noteCommit([]);
      this.#send();
      this.#noteRest();
    }
  }
  #takeAnswered(outcomes) {
    return this.#inFlight.splice(0, outcomes.length).map((write, i) => {
      this.#bytesInFlight -= write.bytes;
      return { write, outcome: outcomes[i] };
    });
  }
  #answer(answered) {
    let logged;
    for (const { write, outcome } of answered) {
      if ("value" in outcome) {
        write.resolve(outcome.value);
        continue;
      }
      const { code, message, hint, cause } = outcome.failure;
      if (code === "store_damaged") {
        if (cause !== undefined)
          guard(() => this.onDamage(cause));
      } else if (cause !== logged)
        this.#log("error", "write failed", { code, cause });
      logged = cause;
      write.reject(new CubbyError(code, message, { hint, cause }));
    }
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
  #endProcess(failure) {
    if (this.#diskFailed || !this.#options.checkpoints)
      return;
    this.#diskFailed = true;
    this.#checkpointer.note({ kind: "failed" });
    this.#options.onDiskFailure(failure);
  }
  async#startWriter() {
    const writer = new Worker(new URL("./writer-thread.js", import.meta.url).href);
    this.#writer = writer;
    try {
      await new Promise((resolve, reject) => {
        writer.onmessage = (event) => {
          const message = event.data;
          if ("refused" in message)
            reject(new Error(message.refused));
          else if ("opened" in message) {
            writer.onerror = (event) => this.#onWriterLost(event.message);
            resolve();
          } else
            this.#onMessage(message);
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
    if (!this.#checkpointer.state.writerRuns)
      return;
    this.#writer.terminate();
    this.#log("error", "the writer thread failed; starting another", { cause });
    const unknown = new CubbyError("outcome_unknown", "The writer failed; the write may or may not have been applied.", {
      hint: "Read the record before repeating the request."
    });
    for (const write of this.#inFlight)
      write.reject(unknown);
    this.#inFlight = [];
    this.#bytesInFlight = 0;
    while (!this.#queue.empty)
      for (const write of this.#queue.take(nothingInFlight))
        write.reject(unavailable());
    this.#checkpointer.note({ kind: "writerLost" });
    this.#noteReady();
    this.#noteRest();
    this.#restartWriter();
  }
  async#restartWriter() {
    while (!this.#closed) {
      try {
        await this.#startWriter();
        this.#checkpointer.note({ kind: "writerStarted" });
        return;
      } catch (error) {
        this.#log("error", "the writer thread could not be started", { cause: String(error) });
        await Bun.sleep(restartPauseMs2);
      }
    }
  }
}
var sendAtRequests = 8, restartPauseMs2 = 1000, nothingInFlight, unavailable = () => new CubbyError("unavailable", "The store takes no writes just now; nothing was applied.", {
  hint: repeatLater
}), guard = (call) => {
  try {
    call();
  } catch {}
};
var init_thread_write_channel = __esm(() => {
  init_errors();
  init_hint();
  init_checkpointer();
  init_command();
  init_write_queue();
  nothingInFlight = { requests: 0, bytes: 0 };
});

// src/engines/sqlite/engine.ts
import { writeSync as writeSync2 } from "fs";
import { join as join3 } from "path";

class SqliteEngine {
  description;
  organizations;
  apiKeys;
  tables;
  records;
  maintenance;
  transfer;
  #store;
  #channel;
  #dataDir;
  #lock;
  constructor({ db, channel, role, dataDir, lock, damage, log }) {
    const store = new OpenStore({ db, channel, role, damage, log });
    this.#store = store;
    this.#channel = channel;
    this.#dataDir = dataDir;
    this.#lock = lock;
    this.organizations = new SqliteOrganizations(store);
    this.apiKeys = new SqliteApiKeys(store);
    this.tables = new SqliteTables(store);
    this.records = new SqliteRecords(store);
    this.maintenance = new SqliteMaintenance(store);
    this.transfer = new SqliteTransfer(store);
    this.description = `sqlite ${db.prepare("SELECT sqlite_version() AS v").get().v}`;
  }
  get cursorSeal() {
    return this.#store.cursorSeal;
  }
  ready() {
    const { damage, watch } = this.#store;
    if (damage.cause !== undefined || watch?.refusal !== undefined)
      return false;
    return this.#channel.ready && this.#store.epoch() > 0;
  }
  serveWorker(channel) {
    const { damage, watch } = this.#store;
    serveWorker(this.#channel, channel, { damage, refusal: () => watch?.refusal });
  }
  async close() {
    const { db, role, snapshot, watch } = this.#store;
    watch?.stop();
    await this.#channel.close();
    snapshot.close();
    if (role === "owner")
      db.close();
    else
      closeUnlessMarked(this.#dataDir, () => db.close());
    this.#lock?.release();
  }
}
var readCacheKib = 32768, mapBytesMax, drainMsMax = 2000, logToOperator = (_, message, fields = {}) => {
  const shown = Object.entries(fields).map(([name, value]) => `${name}: ${value}`);
  writeSync2(2, `${printable(`cubby: ${[message, ...shown].join("; ")}`)}
`);
}, openSqliteEngine = async (options) => {
  const { dataDir, role = "owner", noMmap = false, log = () => {}, faults } = options;
  const path = join3(dataDir, "cubby.db");
  const damage = new Damage(path, log);
  const open = (channel, lock) => {
    const db = new Connection(path, readCacheKib);
    if (role !== "guest" && !noMmap)
      db.run(`PRAGMA mmap_size = ${mapBytesMax}`);
    return new SqliteEngine({ db, channel, role, dataDir, lock, damage, log });
  };
  if (role === "worker")
    return open(new ProcessWriteChannel(options.channel, damage));
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
    await prepareStore(path, { isHolder: isOwner, log, faults });
    return open(await ThreadWriteChannel.open({ path, log, checkpoints: isOwner, onDiskFailure, faults }), lock);
  } catch (error) {
    lock?.release();
    throw error;
  }
};
var init_engine = __esm(() => {
  init_printable();
  init_connection();
  init_damage();
  init_disk_failure();
  init_end_process();
  init_store_files();
  init_store_lock();
  init_maintenance();
  init_prepare_store();
  init_open_store();
  init_records();
  init_api_keys();
  init_organizations();
  init_tables();
  init_transfer();
  init_process_write_channel();
  init_thread_write_channel();
  mapBytesMax = 1024 * 1024 * 1024;
});

// src/engines/sqlite/transfer/backup.ts
import {
  chmodSync,
  closeSync as closeSync4,
  constants,
  copyFileSync,
  existsSync as existsSync2,
  openSync as openSync5,
  readSync,
  rmdirSync,
  rmSync as rmSync3,
  statfsSync,
  statSync as statSync3,
  writeSync as writeSync3
} from "fs";
import { join as join4 } from "path";
var chunkBytes2, temporaryOf = (file) => `${file}.tmp`, createTemporary = (temporary) => {
  try {
    closeSync4(openSync5(temporary, "wx", 384));
  } catch (error) {
    if (error.code !== "EEXIST")
      throw cannotWrite(temporary, error);
    throw new OperatorError(`${temporary} exists: another backup is running, or one was interrupted; in that case remove the file`);
  }
}, cannotWrite = (file, error) => new OperatorError(`${file} cannot be written: ${error.message}`), removeTemporary = (temporary) => {
  for (const end of ["", "-wal", "-shm", "-journal"])
    rmSync3(temporary + end, { force: true });
}, refuseExistingFile = (file) => {
  if (existsSync2(file))
    throw new OperatorError(`${file} exists and is not overwritten`);
}, copyStoreToFile = async (dataDir, file) => {
  const temporary = temporaryOf(file);
  createTemporary(temporary);
  try {
    const counts = await copyVerified(dataDir, temporary, file);
    refuseExistingFile(file);
    try {
      moveIntoPlace(temporary, file);
    } catch (error) {
      throw cannotWrite(file, error);
    }
    return { ...counts, bytes: statSync3(file).size };
  } catch (error) {
    removeTemporary(temporary);
    throw error;
  }
}, copyStoreToStream = async (dataDir, write) => {
  const temporary = temporaryOf(join4(dataDir, "backup"));
  requireRoom(dataDir);
  createTemporary(temporary);
  let descriptor;
  try {
    const counts = await copyVerified(dataDir, temporary, temporary);
    descriptor = openSync5(temporary, "r");
    removeTemporary(temporary);
    return { ...counts, bytes: await streamFile(descriptor, write) };
  } finally {
    if (descriptor === undefined)
      removeTemporary(temporary);
    else
      closeSync4(descriptor);
  }
}, reserveBytes, requireRoom = (dataDir) => {
  const sizes = ["cubby.db", "cubby.db-wal"].map((name) => statSync3(join4(dataDir, name), { throwIfNoEntry: false })?.size);
  const neededBytes = sizes.reduce((sum, size = 0) => sum + size, 0) + reserveBytes;
  const { bavail, bsize } = statfsSync(dataDir);
  if (bavail * bsize >= neededBytes)
    return;
  const [needed, free] = [neededBytes, bavail * bsize].map((bytes) => `${Math.ceil(bytes / 1e6)} MB`);
  throw new OperatorError(`the copy is made in ${dataDir}, where ${free} are free and ${needed} are needed; give a FILE on another disk`);
}, streamFile = async (descriptor, write) => {
  for (let bytes = 0;; ) {
    const chunk = Buffer.allocUnsafe(chunkBytes2);
    const length = readSync(descriptor, chunk, 0, chunkBytes2, null);
    if (length === 0)
      return bytes;
    await write(chunk.subarray(0, length));
    bytes += length;
  }
}, copyVerified = async (dataDir, temporary, target) => {
  const store = new Connection(join4(dataDir, "cubby.db"), 16384);
  try {
    store.run(`VACUUM INTO '${temporary.replaceAll("'", "''")}'`);
  } catch (error) {
    throw isDamage(error) ? damagedStore(store.path, error) : cannotWrite(target, error);
  } finally {
    store.close();
  }
  return verifyCopy(temporary, `the copy of ${join4(dataDir, "cubby.db")}`);
}, verifyCopy = async (path, what) => {
  const db = openCopy(path, what);
  try {
    const version = db.prepare("PRAGMA user_version").get().user_version;
    if (version === 0)
      throw new OperatorError(`${what} is not a backup of Cubby`);
    if (version > schemaVersion) {
      throw new OperatorError(`${what} has version ${version}; this Cubby knows versions up to ${schemaVersion}: use a newer one`);
    }
    migrate(db);
    for await (const finding of checkStore(db))
      throw new OperatorError(`${what} is not sound: ${finding}`);
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
}, openCopy = (path, what) => {
  try {
    return new Connection(path, 16384);
  } catch (error) {
    throw asFinding(error, what);
  }
}, asFinding = (error, what) => {
  const { code, message } = error;
  if (code?.startsWith("SQLITE_NOTADB"))
    return new OperatorError(`${what} is not a backup of Cubby`);
  return code?.startsWith("SQLITE_") ? new OperatorError(`${what} is damaged: ${message}`) : error;
}, refuseExistingStore = (dataDir) => {
  for (const name of ["cubby.db", "cubby.db-wal", "cubby.db-journal"]) {
    if (existsSync2(join4(dataDir, name)))
      throw new OperatorError(`${dataDir} has a store (${name}); give another --data`);
  }
}, restoreStore = async (backup, dataDir) => {
  if (typeof backup === "string" && !existsSync2(backup))
    throw new OperatorError(`there is no file ${backup}`);
  const name = typeof backup === "string" ? backup : backup.name;
  refuseExistingStore(dataDir);
  const isNew = !existsSync2(dataDir);
  try {
    makeDataDir(dataDir);
  } catch (error) {
    throw cannotWrite(dataDir, error);
  }
  const path = join4(dataDir, "cubby.db");
  const temporary = temporaryOf(path);
  let made = false;
  const lock = lockStore(dataDir);
  try {
    createTemporary(temporary);
    made = true;
    if (typeof backup === "string")
      copy(backup, temporary);
    else
      await receive(backup, temporary);
    refuseCompressed(temporary, name);
    const counts = await verifyCopy(temporary, name);
    refuseExistingStore(dataDir);
    moveIntoPlace(temporary, path);
    lock.release();
    return { ...counts, bytes: statSync3(path).size };
  } catch (error) {
    if (made)
      removeTemporary(temporary);
    lock.release();
    if (isNew)
      removeNewDirectory(dataDir);
    throw error;
  }
}, lockStore = (dataDir) => {
  try {
    return holdStore(dataDir);
  } catch (error) {
    throw refuseDirectory(error);
  }
}, copy = (file, temporary) => {
  try {
    copyFileSync(file, temporary, constants.COPYFILE_FICLONE);
    chmodSync(temporary, 384);
  } catch (error) {
    throw new OperatorError(`${file} cannot be copied: ${error.message}`);
  }
}, receive = async ({ name, bytes }, temporary) => {
  const descriptor = openSync5(temporary, "w");
  try {
    for await (const chunk of bytes) {
      for (let at = 0;at < chunk.length; )
        at += writeSync3(descriptor, chunk, at);
    }
  } catch (error) {
    throw new OperatorError(`${name} cannot be copied: ${error.message}`);
  } finally {
    closeSync4(descriptor);
  }
}, refuseCompressed = (temporary, name) => {
  const head = Buffer.alloc(2);
  const descriptor = openSync5(temporary, "r");
  readSync(descriptor, head, 0, 2, 0);
  closeSync4(descriptor);
  if (head[0] !== 31 || head[1] !== 139)
    return;
  throw new OperatorError(`${name} is compressed; unpack it on the way: gunzip -c FILE | cubby backup restore -`);
}, removeNewDirectory = (dataDir) => {
  rmSync3(join4(dataDir, "serve.lock"), { force: true });
  try {
    rmdirSync(dataDir);
  } catch {}
};
var init_backup = __esm(() => {
  init_operator_error();
  init_sync();
  init_connection();
  init_damage();
  init_store_files();
  init_store_lock();
  init_check();
  init_prepare_store();
  init_schema();
  chunkBytes2 = 1024 * 1024;
  reserveBytes = 256 * 1024 * 1024;
});

// src/engines/sqlite/closed-store.ts
import { existsSync as existsSync3 } from "fs";
import { join as join5 } from "path";
var openEngine = async (options) => {
  try {
    return await openSqliteEngine(options);
  } catch (error) {
    throw refuseDamaged(join5(options.dataDir, "cubby.db"), refuseDirectory(error));
  }
}, sqliteStore = (dataDir, settings = {}) => {
  const open = async ({ role, mustExist = false, log, drain }) => {
    if (mustExist && !existsSync3(join5(dataDir, "cubby.db")))
      throw new StoreRefused(`there is no store in ${dataDir}`);
    return openEngine({ dataDir, role, log, drain, ...settings });
  };
  const besideStore = async (work) => {
    const engine = await open({ role: "guest", mustExist: true });
    try {
      return await work();
    } finally {
      await engine.close();
    }
  };
  return {
    describe: () => dataDir,
    open,
    openWorker(channel, log) {
      channel.onClose(() => endProcess(1));
      return openEngine({
        dataDir,
        role: "worker",
        channel,
        log,
        noMmap: settings.noMmap
      });
    },
    workerExitHint: (reason) => reason === "SIGBUS" ? "a page of cubby.db could not be read: see --no-mmap" : undefined,
    async createBackup(file) {
      refuseExistingFile(file);
      return besideStore(() => copyStoreToFile(dataDir, file));
    },
    streamBackup: (write) => besideStore(() => copyStoreToStream(dataDir, write)),
    restoreBackup: (backup) => restoreStore(backup, dataDir)
  };
};
var init_closed_store = __esm(() => {
  init_store_refused();
  init_damage();
  init_end_process();
  init_store_files();
  init_engine();
  init_backup();
});

// src/engines/postgres/dialects/dialect.ts
var openingOf = ({ settings, isolation, planning }) => [
  ...settings,
  `set default_transaction_isolation = '${isolation}'`,
  ...planning,
  `select current_setting('transaction_read_only')`
].join("; ");

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
  var crypto2 = require_utils2();
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
    const clientNonce = crypto2.randomBytes(18).toString("base64");
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
      const certHash = await crypto2.hashByName(hashName, peerCert);
      const bindingData = Buffer.concat([Buffer.from("p=tls-server-end-point,,"), Buffer.from(certHash)]);
      channelBinding = bindingData.toString("base64");
    }
    const clientFinalMessageWithoutProof = "c=" + channelBinding + ",r=" + sv.nonce;
    const authMessage = clientFirstMessageBare + "," + serverFirstMessage + "," + clientFinalMessageWithoutProof;
    const saltBytes = Buffer.from(sv.salt, "base64");
    const saltedPassword = await crypto2.deriveKey(saslprep(password), saltBytes, sv.iteration);
    const clientKey = await crypto2.hmacSha256(saltedPassword, "Client Key");
    const storedKey = await crypto2.sha256(clientKey);
    const clientSignature = await crypto2.hmacSha256(storedKey, authMessage);
    const clientProof = xorBuffers(Buffer.from(clientKey), Buffer.from(clientSignature)).toString("base64");
    const serverKey = await crypto2.hmacSha256(saltedPassword, "Server Key");
    const serverSignatureBytes = await crypto2.hmacSha256(serverKey, authMessage);
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
  var crypto2 = require_utils2();
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
          const hashedPassword = await crypto2.postgresMd5PasswordHash(this.user, this.password, msg.salt);
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

// src/engines/postgres/connection/driver.ts
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

// src/engines/postgres/connection/failure.ts
var isRaised = (error) => stateOf(error) === "22012", isSetupRace = (error) => setupRaceStates.includes(stateOf(error) ?? ""), setupRaceStates, isLockTimeout = (error) => stateOf(error) === "55P03", isMissingRight = (error) => stateOf(error) === "42501", stateOf = (error) => error instanceof PipelineFailure ? error.sqlState : undefined, isRetryable = (error) => {
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
}, unavailable2 = (why) => new CubbyError("unavailable", `${why} Nothing was applied.`, {
  hint: repeatLater
}), outcomeUnknown = () => new CubbyError("outcome_unknown", "The database did not confirm the write: it may or may not have been applied.", {
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
      return new CubbyError("storage_full", "The database has no space left. Nothing was applied.", {
        hint: "The operator has to make room; reads still work."
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
  init_hint();
  init_store_refused();
  init_driver();
  setupRaceStates = [
    ...["23505", "42P07", "42P16", "42710", "42P06", "42701", "42703", "42704", "42P01"],
    ...["40001", "40P01", "XX000"]
  ];
});

// src/engines/postgres/connection/connect.ts
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
  init_driver();
  init_failure();
});

// src/engines/postgres/connection/coalescer.ts
class Coalescer {
  #pool;
  #options;
  #waiting = new Map;
  constructor(pool, options) {
    this.#pool = pool;
    this.#options = options;
  }
  run(holder, call) {
    const { promise, resolve, reject } = Promise.withResolvers();
    const own = { holder, call, resolve };
    const group = this.#options.groupOf(holder);
    const waiting = this.#waiting.get(group) ?? new Set;
    if (waiting.size === 0)
      this.#waiting.set(group, waiting);
    waiting.add(own);
    this.#pool.run(holder, (session) => this.#sendWith(session, group, own)).catch((error) => {
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
  async#sendWith(session, group, first) {
    if (!this.#take(group, first))
      return;
    const together = [first];
    const calls = [first.call];
    for (const next of this.#waiting.get(group) ?? []) {
      if (together.length >= this.#options.callsMax)
        break;
      if (!this.#options.fits(calls, next.call))
        continue;
      this.#take(group, next);
      together.push(next);
      calls.push(next.call);
    }
    try {
      const results = await this.#options.send(session, calls);
      for (const [i, { resolve }] of together.entries())
        resolve(results[i]);
    } catch (error) {
      const alone = together.length === 1;
      for (const { holder, call, resolve } of together)
        resolve(this.#options.recover(holder, call, error, alone));
      throw error;
    }
  }
}

// src/engines/postgres/connection/database.ts
class Database5 {
  #pool;
  #msMax;
  #pipelinesAreTransactions;
  #lookUps;
  constructor(pool, statementMsMax, pipelinesAreTransactions) {
    this.#pool = pool;
    this.#pipelinesAreTransactions = pipelinesAreTransactions;
    this.#msMax = statementMsMax + answerGraceMs;
    const options = {
      callsMax: lookUpsTogetherMax,
      groupOf: () => 0,
      fits: () => true,
      send: (session, together) => this.send(session, together)
    };
    this.#lookUps = this.coalesce(options, (step) => step, false);
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
  coalesce(options, stepOf, commits) {
    const recover = async (holder, call, error, alone) => {
      const again = alone ? isRetryable(error) || isLost(error) : true;
      if (!again || !isUndone(error, commits))
        throw toCallersError(error, commits);
      const [result] = await (commits ? this.write(holder, stepOf(call)) : this.read(holder, stepOf(call)));
      return result;
    };
    return new Coalescer(this.#pool, { ...options, recover });
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

// src/engines/postgres/connection/pool.ts
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

// src/engines/postgres/connection/store-url.ts
import { readFileSync as readFileSync3 } from "fs";
var sslModes, parameters, refuse3 = (message) => {
  throw new StoreUrlRefused(message);
}, decode = (text) => {
  try {
    return decodeURIComponent(text);
  } catch {
    return refuse3('a percent-escape in the URL is malformed; write "%" as "%25"');
  }
}, readFile = (parameter, path) => {
  try {
    return readFileSync3(path, "utf8");
  } catch (error) {
    throw new StoreRefused(`${parameter}: ${path} cannot be read (${error.code})`);
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
}, parseStoreUrl = (text, givenAs = "--store") => {
  try {
    return parseUrl(text);
  } catch (error) {
    if (error instanceof StoreRefused)
      error.message = `${givenAs}: ${error.message}`;
    throw error;
  }
}, parseUrl = (text) => {
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

// src/engines/postgres/dialects/citus.ts
var citus = (facts, base) => {
  if (facts.citus === undefined)
    return;
  return {
    ...base,
    description: `citus ${facts.citus} on ${base.description}`,
    afterSchema: [`select create_distributed_table('cubby_record', 'table_id')`],
    distributesRecords: true,
    planning: base.planning.map((setting) => setting.replace("force_generic_plan", "force_custom_plan")),
    pipelinesAreTransactions: false,
    guardsWrites: false,
    putsFromArrays: false,
    namesManyTables: false
  };
};

// src/engines/postgres/dialects/cockroachdb.ts
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
    hasTransactionalDdl: false,
    hasAdvisoryLocks: false,
    hasBackendIds: false,
    listsWriters: false,
    pipelinesAreTransactions: false,
    putsFromArrays: false
  };
};

// src/engines/postgres/dialects/postgresql.ts
var oldestNumeric = 150000, planning, sessionSettings = (statementMsMax) => [
  "set client_encoding = 'UTF8'",
  "set bytea_output = 'hex'",
  "set synchronous_commit = on",
  `set statement_timeout = ${statementMsMax}`,
  `set idle_in_transaction_session_timeout = ${statementMsMax}`,
  "set default_transaction_read_only = off"
], postgresql = (facts, statementMsMax) => ({
  description: `postgres ${facts.number.split(" ")[0]}`,
  settings: sessionSettings(statementMsMax),
  planning,
  isolation: "read committed",
  nameType: 'text collate "C"',
  beforeSchema: [],
  afterSchema: [],
  hasTransactionalDdl: true,
  distributesRecords: false,
  addsPrimaryKeyLast: true,
  hasBackendIds: true,
  hasAdvisoryLocks: true,
  pipelinesAreTransactions: true,
  guardsWrites: true,
  putsFromArrays: true,
  listsWriters: true,
  namesManyTables: true
}), refuseOldPostgresql = ({ number, numeric }) => {
  if (numeric < oldestNumeric) {
    throw new StoreRefused(`the server is PostgreSQL ${number}; the oldest supported version is 15`);
  }
};
var init_postgresql = __esm(() => {
  init_store_refused();
  planning = [
    "set plan_cache_mode = force_generic_plan",
    ...["seqscan", "bitmapscan", "sort", "hashjoin", "mergejoin"].map((method) => `set enable_${method} = off`),
    "set jit = off"
  ];
});

// src/engines/postgres/dialects/yugabytedb.ts
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
    throw new StoreRefused(`YugabyteDB ${version} loses entries of partial indexes; run a version with the fix`);
  }
  return {
    ...base,
    description: `yugabytedb ${version}`,
    beforeSchema: ["set yb_use_hash_splitting_by_default = off"],
    listsWriters: false,
    addsPrimaryKeyLast: false,
    hasTransactionalDdl: false,
    hasAdvisoryLocks: false,
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

// src/engines/postgres/dialects/detect-dialect.ts
var readServerFacts = async (session) => {
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
}, detectDialect = (facts, statementMsMax) => {
  if (facts.encoding.replace("-", "").toUpperCase() !== "UTF8") {
    throw new StoreRefused(`the database has the encoding ${facts.encoding}; make one with encoding UTF8`);
  }
  const base = postgresql(facts, statementMsMax);
  const own = cockroachdb(facts, base) ?? yugabytedb(facts, base);
  if (own !== undefined)
    return own;
  refuseOldPostgresql(facts);
  return citus(facts, base) ?? base;
};
var init_detect_dialect = __esm(() => {
  init_store_refused();
  init_postgresql();
  init_yugabytedb();
});

// src/engines/postgres/connection/bytes.ts
var toBytes = (text) => Buffer.from(text), toBytesOrNull = (text) => text === null ? null : Buffer.from(text), asBuffer = (bytes) => Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength), toHex = (text) => `\\x${Buffer.from(text).toString("hex")}`, bytesOfHex = (hex) => Buffer.from(hex.slice(2), "hex"), bytesLiteral = (bytes) => `decode('${Buffer.from(bytes).toString("hex")}', 'hex')`, scratch, fromHex = (hex) => {
  if (hex === "\\x23")
    return "#";
  if (hex.length > scratch.length)
    return bytesOfHex(hex).toString();
  return scratch.toString("utf8", 0, scratch.write(hex.slice(2), "hex"));
};
var init_bytes = __esm(() => {
  scratch = Buffer.allocUnsafe(4096);
});

// src/engines/postgres/records/statements.ts
var indexColumns2, theRecord = "r.table_id = $1::bigint and r.hash_key = $2::bytea and r.range_key = $3::bytea", tableIsActive = "coalesce((select t.deleted_at is null from cubby_table t where t.id = $1::bigint), false)", keyIsActive = (place) => `($${place}::bigint is null or coalesce((select k.revoked_at is null from cubby_api_key k where k.seq = $${place}::bigint), false))`, guard2 = (keyPlace) => `${tableIsActive} and ${keyIsActive(keyPlace)}`, raising = (holds) => `1 / (case when ${holds} then 1 else 0 end)`, raisingUnlessApplied = (change) => `with w as (${change}) select max(w.updated_at), 1 / count(*) from w`, nowPlace = 17, entryPlaces, recordColumns, expired, live = (place) => `(r.ttl is null or r.ttl > $${place}::bigint)`, isVersion = (place) => `r.updated_at - $${place}::bigint = 0`, rowOf = (id) => `${id}, $1::bigint, $2::bytea, $3::bytea, $4::text, $5::bigint, $6::bigint, ${entryPlaces.join(", ")}`, overwrite, updateLive, conditionKind = (condition) => condition === undefined ? "none" : typeof condition === "string" ? condition : "version", idStride = 32, newId = "nextval('cubby_record_id')", drawIds, idInBatch = "currval('cubby_record_id') + $18::bigint", putAlone = (kind, guarded) => {
  const name = `put_${kind}${guarded ? "_guarded" : ""}`;
  if (kind === "exists" || kind === "version") {
    const version = kind === "version" ? ` and ${isVersion(guarded ? 19 : 18)}` : "";
    return { name, text: `${updateLive}${version}${guarded ? ` and ${guard2(18)}` : ""} returning r.updated_at` };
  }
  const source = guarded ? `select ${rowOf(newId)} where ${guard2(18)}` : `values (${rowOf(newId)})`;
  const only = kind === "absent" ? ` where ${expired}` : "";
  const text = `insert into cubby_record as r (${recordColumns}) ${source} ${overwrite}${only} returning r.updated_at`;
  return { name, text };
}, putInBatch = (kind) => {
  const name = `batch_put_${kind}`;
  if (kind === "exists" || kind === "version") {
    const version = kind === "version" ? ` and ${isVersion(18)}` : "";
    return { name, text: raisingUnlessApplied(`${updateLive}${version} returning r.updated_at`) };
  }
  const only = kind === "absent" ? ` where ${raising(expired)} = 1` : "";
  const text = `insert into cubby_record as r (${recordColumns}) values (${rowOf(idInBatch)}) ${overwrite}${only} returning r.updated_at`;
  return { name, text };
}, rowTypes, rowNames, unnest = (types, names) => `unnest(${types.map((type, i) => `$${i + 2}::${type}[]`).join(", ")}) as v (${names.join(", ")})`, insertRows = (tableId, source, guarded) => `insert into cubby_record as r (${recordColumns})
    select (select ${newId}) + v.place, ${tableId}, ${rowNames.slice(1).map((name) => `v.${name}`).join(", ")}
    from ${source} where ${guarded}
    ${overwrite.replaceAll(`$${nowPlace}::`, "$1::")}`, behindRows, putBatch, putTogether, deleteLive = (kind) => `delete from cubby_record as r where ${theRecord} and ${live(4)}${kind === "version" ? ` and ${isVersion(5)}` : ""}`, deleteAlone = (kind, guarded) => ({
  name: `delete_${kind}${guarded ? "_guarded" : ""}`,
  text: `${deleteLive(kind)}${guarded ? ` and ${guard2(kind === "version" ? 6 : 5)}` : ""} returning r.updated_at`
}), lockInBatch, deleteHolds, deleteInBatch = (kind) => ({
  name: `batch_delete_${kind}`,
  text: `with w as (delete from cubby_record as r where ${theRecord} returning ${live(4)} as live, r.updated_at)
    select w.live, ${raising(deleteHolds[kind])} from w`
}), guardBatch, guardState, currentVersion;
var init_statements = __esm(() => {
  init_indices();
  indexColumns2 = slots.flatMap((slot) => [`${slot}_hash`, `${slot}_range`]);
  entryPlaces = indexColumns2.map((_, i) => `$${i + 7}::bytea`);
  recordColumns = `id, table_id, hash_key, range_key, data, ttl, updated_at, ${indexColumns2.join(", ")}`;
  expired = `r.ttl <= $${nowPlace}::bigint`;
  overwrite = `on conflict (table_id, hash_key, range_key) do update set
  id = case when ${expired} then excluded.id else r.id end,
  updated_at = case when ${expired} then excluded.updated_at else greatest(excluded.updated_at, r.updated_at + 1) end,
  data = excluded.data, ttl = excluded.ttl,
  ${indexColumns2.map((column) => `${column} = excluded.${column}`).join(", ")}`;
  updateLive = `update cubby_record as r set
  data = $4::text, ttl = $5::bigint, updated_at = greatest($6::bigint, r.updated_at + 1),
  ${indexColumns2.map((column, i) => `${column} = ${entryPlaces[i]}`).join(", ")}
  where ${theRecord} and ${live(nowPlace)}`;
  drawIds = { name: "draw_ids", text: `select ${newId}` };
  rowTypes = ["bigint", "bytea", "bytea", "text", "bigint", "bigint", ...indexColumns2.map(() => "bytea")];
  rowNames = ["place", "hash_key", "range_key", "data", "ttl", "updated_at", ...indexColumns2];
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
    text: `insert into cubby_record as r (id, table_id, hash_key, range_key, data, ttl, updated_at)
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
    text: `select r.updated_at from cubby_record as r where ${theRecord} and ${live(4)}`
  };
});

// src/engines/postgres/maintenance/check.ts
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
      const finding = checkRecord(row, indices, Number(ids.rows[0][0]));
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
var rowsPerStep2 = 100, tablesPerStep = 500, step = (statement, ...values) => ({ statement, values }), keysWithoutOrganization, tablesWithoutOrganization, nextTables, nextRecords, strayTable, isTable, lastId, checkRecord = (row, indices, lastDrawnId) => {
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
var init_check2 = __esm(() => {
  init_indices();
  init_bytes();
  init_failure();
  init_statements();
  keysWithoutOrganization = {
    name: "check_keys",
    text: `select 'api key ' || k.id || ' belongs to no organization' from cubby_api_key k
    where not exists (select 1 from cubby_organization o where o.id = k.org_id)`
  };
  tablesWithoutOrganization = {
    name: "check_tables",
    text: `select 'table ' || t.id || ' belongs to no organization' from cubby_table t
    where not exists (select 1 from cubby_organization o where o.id = t.org_id)`
  };
  nextTables = {
    name: "check_next_tables",
    text: "select t.id, t.indices from cubby_table t where t.id > $1::bigint order by t.id limit $2::bigint"
  };
  nextRecords = {
    name: "check_records",
    text: `select r.id, r.hash_key, r.range_key, r.data, ${indexColumns2.map((column) => `r.${column}`).join(", ")}
    from cubby_record r where r.table_id = $1::bigint and (r.hash_key, r.range_key) > ($2::bytea, $3::bytea)
    order by r.hash_key, r.range_key limit $4::bigint`
  };
  strayTable = {
    name: "check_stray",
    text: `select r.table_id from cubby_record r where r.table_id > $1::bigint and r.table_id < $2::bigint
    order by r.table_id limit 1`
  };
  isTable = { name: "check_is_table", text: "select 1 from cubby_table t where t.id = $1::bigint" };
  lastId = {
    name: "check_ids",
    text: "select last_value from cubby_record_id"
  };
});

// src/engines/postgres/maintenance/maintenance.ts
class PostgresMaintenance {
  #options;
  constructor(options) {
    this.#options = options;
  }
  async#now(nowMs) {
    if (this.#options.clock === "caller")
      return nowMs;
    const [result] = await this.#options.db.read(noOrg, step2(databaseClock));
    return Math.min(nowMs, Number(result.rows[0][0]));
  }
  async sweepExpired(nowMs, rowsMax) {
    const { db, namesManyTables } = this.#options;
    const before = nowSeconds(await this.#now(nowMs) - sweepGraceMs);
    if (namesManyTables)
      return (await db.write(noOrg, step2(sweepInOne, before, rowsMax)))[0].count;
    return this.#sweepByTable(before, rowsMax);
  }
  async#sweepByTable(before, rowsMax) {
    const { db } = this.#options;
    for (let look = 1;look <= sweepLooksMax; look++) {
      const [found] = await db.read(noOrg, step2(findExpired, before, rowsMax));
      if (found.rows.length === 0)
        return 0;
      const rowsOfTable = new Map;
      for (const [tableId] of found.rows)
        rowsOfTable.set(tableId, (rowsOfTable.get(tableId) ?? 0) + 1);
      let removed = 0;
      for (const [tableId, rows] of rowsOfTable) {
        removed += (await db.write(noOrg, step2(removeExpired, tableId, before, rows)))[0].count;
      }
      if (removed > 0)
        return removed;
    }
    return 0;
  }
  async purgeTables(nowMs, rowsMax) {
    const before = await this.#now(nowMs) - recoveryMs - sweepGraceMs;
    return this.#options.db.transaction(noOrg, async ({ send, commit }) => {
      const [taken] = await send(step2(takeTable, before));
      const id = taken.rows[0]?.[0];
      if (id == null)
        return 0;
      const [, removed, left] = await send(step2(markPurging, id), step2(removeRows, id, rowsMax), step2(anyRow, id));
      if (left.rows.length > 0) {
        await commit();
        return removed.count;
      }
      const [table] = await commit(step2(removeTable, id));
      return removed.count + table.count;
    });
  }
  async addChecksums() {
    return 0;
  }
  check(notes = {}) {
    const { openLongSession, namesManyTables } = this.#options;
    return checkStore2(openLongSession, namesManyTables, notes.table);
  }
}
var step2 = (statement, ...values) => ({ statement, values }), databaseClock, sweepInOne, findExpired, removeExpired, takeTable, markPurging, removeRows, anyRow, removeTable, sweepLooksMax = 10;
var init_maintenance2 = __esm(() => {
  init_limits();
  init_database();
  init_check2();
  databaseClock = {
    name: "clock",
    text: "select floor(extract(epoch from now()) * 1000)::bigint"
  };
  sweepInOne = {
    name: "sweep",
    text: `delete from cubby_record as r using (
      select e.table_id, e.hash_key, e.range_key from cubby_record e where e.ttl <= $1::bigint
      order by e.ttl limit $2::bigint for update skip locked
    ) as x where r.table_id = x.table_id and r.hash_key = x.hash_key and r.range_key = x.range_key`
  };
  findExpired = {
    name: "find_expired",
    text: "select e.table_id from cubby_record e where e.ttl <= $1::bigint order by e.ttl limit $2::bigint"
  };
  removeExpired = {
    name: "remove_expired",
    text: `delete from cubby_record as r using (
      select e.hash_key, e.range_key from cubby_record e where e.table_id = $1::bigint and e.ttl <= $2::bigint
      order by e.ttl limit $3::bigint
    ) as x where r.table_id = $1::bigint and r.hash_key = x.hash_key and r.range_key = x.range_key and r.ttl <= $2::bigint`
  };
  takeTable = {
    name: "take_table",
    text: `select t.id from cubby_table t where t.deleted_at <= $1::bigint order by t.deleted_at limit 1
    for update skip locked`
  };
  markPurging = {
    name: "mark_purging",
    text: "update cubby_table set purging = true where id = $1::bigint and not purging"
  };
  removeRows = {
    name: "remove_rows",
    text: `delete from cubby_record as r using (
      select e.hash_key, e.range_key from cubby_record e where e.table_id = $1::bigint limit $2::bigint
    ) as x where r.table_id = $1::bigint and r.hash_key = x.hash_key and r.range_key = x.range_key`
  };
  anyRow = {
    name: "any_row",
    text: "select 1 from cubby_record r where r.table_id = $1::bigint limit 1"
  };
  removeTable = { name: "remove_table", text: "delete from cubby_table where id = $1::bigint" };
});

// src/engines/postgres/migrations/migration-2.ts
var tables, indexes, sequences, migrateTo2 = async (session, dialect) => {
  if (dialect.hasTransactionalDdl) {
    await session.run(`lock table ${tables.map(([from]) => from).join(", ")} in access exclusive mode`);
  }
  for (const [from, to] of tables) {
    await session.run(`alter table if exists ${from} rename to ${to}`);
    for (const index of indexes[from]) {
      await session.run(`alter index if exists ${from}_${index} rename to ${to}_${index}`);
    }
  }
  for (const [from, to] of sequences)
    await session.run(`alter sequence if exists ${from} rename to ${to}`);
  await renameConstraints(session, dialect);
  await addCursorKey(session);
}, renameConstraints = async (session, dialect) => {
  for (const [from, to] of tables) {
    if (to === "cubby_record" && dialect.distributesRecords)
      continue;
    const named = await session.run(`select conname from pg_constraint
       where conrelid = '${to}'::regclass and left(conname::text, ${from.length + 1}) = '${from}_'`);
    for (const [name] of named) {
      await session.run(`alter table ${to} rename constraint ${name} to ${name.replace(from, to)}`);
    }
  }
}, addCursorKey = async (session) => {
  const secret = crypto.getRandomValues(new Uint8Array(cursorKeyBytes));
  await session.run("alter table cubby_store add column if not exists cursor_key bytea");
  await session.run("alter table cubby_store add column if not exists accepts_plain_cursors boolean");
  await session.run(`update cubby_store set cursor_key = ${bytesLiteral(secret)}, accepts_plain_cursors = true where cursor_key is null`);
  await session.run("alter table cubby_store alter column cursor_key set not null");
  await session.run("alter table cubby_store alter column accepts_plain_cursors set not null");
};
var init_migration_2 = __esm(() => {
  init_cursor_seal();
  init_bytes();
  tables = [
    ["cubby_records", "cubby_record"],
    ["cubby_tables", "cubby_table"],
    ["cubby_api_keys", "cubby_api_key"],
    ["cubby_organizations", "cubby_organization"]
  ];
  indexes = {
    cubby_records: ["by_time", "by_ttl", "by_i1", "by_i2", "by_i3", "by_i4", "by_i5", "pkey"],
    cubby_tables: ["active", "deleted", "to_purge", "pkey"],
    cubby_api_keys: ["by_org", "id_key", "hash_key", "pkey"],
    cubby_organizations: ["name_key", "pkey"]
  };
  sequences = [
    ["cubby_record_ids", "cubby_record_id"],
    ["cubby_tables_id_seq", "cubby_table_id_seq"],
    ["cubby_api_keys_seq_seq", "cubby_api_key_seq_seq"],
    ["cubby_organizations_id_seq", "cubby_organization_id_seq"]
  ];
});

// src/engines/postgres/migrations/migrations.ts
var migrations2;
var init_migrations2 = __esm(() => {
  init_migration_2();
  migrations2 = [{ to: 2, run: migrateTo2 }];
});

// src/engines/postgres/migrations/schema.ts
var schemaVersion2 = 2, primaryKey = "primary key (table_id, hash_key, range_key)", currentSchema = (dialect, { leaseMs, cursorKey }) => [
  `create table if not exists cubby_store (
    id int primary key check (id = 1),
    version int not null,
    lease_ms int not null,
    registry_epoch bigint not null,
    cursor_key bytea not null,
    accepts_plain_cursors boolean not null
  )`,
  `create table if not exists cubby_organization (
    id bigint generated by default as identity primary key,
    name ${dialect.nameType} not null unique,
    created_at bigint not null
  )`,
  `create table if not exists cubby_api_key (
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
  "create index if not exists cubby_api_key_by_org on cubby_api_key (org_id, seq)",
  `create table if not exists cubby_table (
    id bigint generated by default as identity primary key,
    org_id bigint not null,
    db ${dialect.nameType} not null,
    name ${dialect.nameType} not null,
    indices text not null,
    created_at bigint not null,
    deleted_at bigint,
    purging boolean not null default false
  )`,
  "create unique index if not exists cubby_table_active on cubby_table (org_id, db, name) where deleted_at is null",
  `create unique index if not exists cubby_table_deleted on cubby_table (org_id, db, name, deleted_at)
    where deleted_at is not null`,
  "create index if not exists cubby_table_to_purge on cubby_table (deleted_at) where deleted_at is not null",
  `create sequence if not exists cubby_record_id increment by ${idStride} cache 1`,
  `create table if not exists cubby_record (
    id bigint not null,
    table_id bigint not null,
    hash_key bytea not null,
    range_key bytea not null,
    updated_at bigint not null,
    ttl bigint,
    ${indexColumns2.map((column) => `${column} bytea,`).join(" ")}
    data text not null${dialect.addsPrimaryKeyLast ? "" : `, ${primaryKey}`}
  )`,
  "create index if not exists cubby_record_by_time on cubby_record (table_id, updated_at, id)",
  "create index if not exists cubby_record_by_ttl on cubby_record (ttl) where ttl is not null",
  ...slots.map((slot) => `create index if not exists cubby_record_by_${slot}
      on cubby_record (table_id, ${slot}_hash, ${slot}_range, id) where ${slot}_hash is not null`),
  ...dialect.addsPrimaryKeyLast ? [`alter table cubby_record add ${primaryKey}`] : [],
  ...dialect.afterSchema,
  `insert into cubby_store (id, version, lease_ms, registry_epoch, cursor_key, accepts_plain_cursors)
    values (1, ${schemaVersion2}, ${leaseMs}, 1, ${bytesLiteral(cursorKey.secret)}, ${cursorKey.acceptsPlain})`
];
var init_schema2 = __esm(() => {
  init_indices();
  init_bytes();
  init_statements();
});

// src/engines/postgres/migrations/setup-lock.ts
var setupLock = 1131766393, tables2, describeLockHolder = async (session) => {
  const [holder] = await session.run(`select a.pid, a.application_name, a.usename, a.state, to_char(a.xact_start, 'YYYY-MM-DD HH24:MI:SS TZ')
     from pg_locks l join pg_stat_activity a on a.pid = l.pid
     where l.granted and l.pid <> pg_backend_pid()
       and l.database = (select d.oid from pg_database d where d.datname = current_database())
       and (l.locktype = 'relation' and l.relation in (${tables2.map((table) => `to_regclass('cubby_${table}')`).join(", ")})
         or l.locktype = 'advisory' and l.classid = 0 and l.objid = ${setupLock})
     order by a.xact_start limit 1`);
  if (holder === undefined)
    return "a transaction that has ended since held a lock on it";
  const [pid, application, user, state, since] = holder;
  const name = application ? `${application}, ` : "";
  return `it waits for the transaction of process ${pid} (${name}user ${user}, ${state}), open since ${since}`;
};
var init_setup_lock = __esm(() => {
  tables2 = ["store", "organization", "api_key", "table", "record", "organizations", "api_keys", "tables", "records"];
});

// src/engines/postgres/migrations/prepare-store.ts
var leaseMsDefault = 1000, setupAttemptsMax = 20, setupLockMsMax = 30000, tableLockMsMax = 1e4, idleMsMax = 1e4, readVersion2 = async (session) => {
  const [there] = await session.run(`select to_regclass('cubby_store')`);
  if (there?.[0] == null)
    return;
  const [row] = await session.run("select version from cubby_store");
  if (row === undefined)
    return;
  const version = Number(row[0]);
  if (version > schemaVersion2) {
    throw new StoreRefused(`the store has version ${version}; this Cubby knows versions up to ${schemaVersion2}: start a newer one`);
  }
  return version;
}, readFacts = async (session) => {
  const [row] = await session.run(`select lease_ms, encode(cursor_key, 'hex'), accepts_plain_cursors from cubby_store`);
  const [leaseMs, secret, acceptsPlain] = row;
  const [sequence] = await session.run(`select cache_size from pg_sequences where sequencename = 'cubby_record_id' and schemaname = any (current_schemas(false))`);
  return {
    leaseMs: Number(leaseMs),
    cursorKey: { secret: Buffer.from(secret, "hex"), acceptsPlain: acceptsPlain === "t" },
    idsAhead: Number(sequence?.[0] ?? 1)
  };
}, requireRights = async (session) => {
  const wanted = ["store", "organization", "api_key", "table", "record"].flatMap((table) => ["select", "insert", "update", "delete"].map((right) => `('cubby_${table}', '${right}')`));
  const [missing] = await session.run(`select name, privilege from (values ${wanted.join(", ")}) as wanted (name, privilege)
     where not has_table_privilege(name, privilege) limit 1`);
  if (missing !== undefined) {
    throw new StoreRefused(`the user may not ${missing[1]} in the table ${missing[0]}; grant it, or own the tables`);
  }
}, prepareStore2 = async (session, options) => {
  const { dialect, shown, mustExist } = options;
  if (dialect.hasTransactionalDdl)
    await session.run(`set lock_timeout = ${setupLockMsMax}; set statement_timeout = 0`);
  for (let attempt = 1;; attempt++) {
    let version;
    try {
      version = await readVersion2(session);
      if (version === schemaVersion2) {
        await requireRights(session);
        return await readFacts(session);
      }
      if (version === undefined && mustExist)
        throw new StoreRefused(`there is no store in ${shown}`);
      if (version === undefined)
        await makeStore(session, options);
      else
        await migrateStore(session, options);
    } catch (error) {
      await session.run("rollback").catch(() => {});
      if (isLockTimeout(error))
        throw await lockRefusal(session, version);
      if (isMissingRight(error) && version !== undefined)
        throw ownerRefusal(version, error);
      if (!isSetupRace(error) || attempt >= setupAttemptsMax)
        throw error;
      await Bun.sleep(20 + Math.random() * 80);
    }
  }
}, makeStore = async (session, { dialect, leaseMs }) => {
  for (const sql of dialect.beforeSchema)
    await session.run(sql);
  await session.run("begin");
  if (dialect.hasAdvisoryLocks)
    await session.run(`select pg_advisory_xact_lock(${setupLock})`);
  if (await readVersion2(session) === undefined) {
    const secret = crypto.getRandomValues(new Uint8Array(cursorKeyBytes));
    await session.run(currentSchema(dialect, { leaseMs, cursorKey: { secret, acceptsPlain: false } }).join(`;
`));
  }
  await session.run("commit");
}, migrateStore = async (session, { dialect, log }) => {
  const { hasTransactionalDdl, hasAdvisoryLocks } = dialect;
  if (hasTransactionalDdl) {
    await session.run("begin isolation level read committed read write");
    await session.run(`set local idle_in_transaction_session_timeout = ${idleMsMax}`);
    if (hasAdvisoryLocks)
      await session.run(`select pg_advisory_xact_lock(${setupLock})`);
    await session.run(`set local lock_timeout = ${tableLockMsMax}`);
  }
  const from = await readVersion2(session);
  const due = migrations2.filter(({ to }) => to > from);
  for (const { to, run } of due) {
    await run(session, dialect);
    await session.run(`update cubby_store set version = ${to} where version = ${to - 1}`);
  }
  if (hasTransactionalDdl)
    await session.run("commit");
  if (due.length > 0)
    log("info", "the store was migrated", { from, to: schemaVersion2 });
}, lockRefusal = async (session, version) => {
  const holder = await describeLockHolder(session);
  const task = version === undefined ? "set up" : `migrated from version ${version} to ${schemaVersion2}`;
  return new StoreRefused(`the store cannot be ${task} now: ${holder}; start again when that has ended`);
}, ownerRefusal = (version, { message }) => new StoreRefused(`the store has version ${version} and this user may not migrate it to ${schemaVersion2} (${message}): ` + "start this version once as the owner of its tables");
var init_prepare_store2 = __esm(() => {
  init_cursor_seal();
  init_store_refused();
  init_failure();
  init_migrations2();
  init_schema2();
  init_setup_lock();
});

// src/engines/postgres/connection/arrays.ts
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

// src/engines/postgres/records/read-statements.ts
var getRecord, keyBytes = "octet_length(r.hash_key) + octet_length(r.range_key)", selected, findRecords, walkOf = (index, descending, first) => {
  const [low, high, third, fourth] = [first, first + 1, first + 2, first + 3].map((place) => `$${place}`);
  const down = descending ? " desc" : "";
  if (index === "primary") {
    return {
      range: "range_key",
      where: `r.hash_key = ${third}::bytea and r.range_key >= ${low}::bytea and r.range_key < ${high}::bytea`,
      order: (column) => `${column}${down}`
    };
  }
  const [range, type] = index === "t" ? ["updated_at", "bigint"] : [`${index}_range`, "bytea"];
  const hash = index === "t" ? "" : `r.${index}_hash = ${fourth}::bytea and `;
  const bounds = descending ? `r.${range} >= ${low}::${type} and (r.${range}, r.id) < (${high}::${type}, ${third}::bigint)` : `(r.${range}, r.id) > (${low}::${type}, ${third}::bigint) and r.${range} < ${high}::${type}`;
  return { range, where: `${hash}${bounds}`, order: (column, id) => `${column}${down}, ${id}${down}` };
}, scanColumn, scanRecords = (index, descending, select = "data") => {
  const { range, where, order } = walkOf(index, descending, 8);
  const { prefix, data, size } = selected[select];
  const walk = `
    select r.id, r.hash_key, r.range_key, r.updated_at, r.ttl, r.${range} as place, coalesce(r.ttl <= $2::bigint, false) as expired,
      case when r.ttl <= $2::bigint then null else ${data} end as data,
      case when r.ttl <= $2::bigint then 0 else ${size} end as size
    from cubby_record as r where r.table_id = $1::bigint and ${where}
    order by ${order(`r.${range}`, "r.id")} limit $3::bigint`;
  const counted = `
    select w.*, row_number() over o as walked, count(*) filter (where w.expired) over o as stepped_over,
      count(*) filter (where not w.expired) over o as met,
      sum(w.size) over o as bytes
    from (${walk}) as w window o as (order by ${order("w.place", "w.id")} rows unbounded preceding)`;
  return {
    name: `${prefix}_${index}${descending ? "_down" : ""}`,
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
}, countColumn, countRecords = (index, descending) => {
  const { range, where, order } = walkOf(index, descending, 6);
  const walk = `
    select r.id, r.${range} as place, coalesce(r.ttl <= $2::bigint, false) as expired
    from cubby_record as r where r.table_id = $1::bigint and ${where}
    order by ${order(`r.${range}`, "r.id")} limit $3::bigint`;
  const counted = `
    select w.id, w.place, row_number() over o as walked, count(*) filter (where w.expired) over o as stepped_over,
      count(*) filter (where not w.expired) over o as met
    from (${walk}) as w window o as (order by ${order("w.place", "w.id")} rows unbounded preceding)`;
  const ahead = `
    select c.*, lead(c.met) over n as next_met, lead(c.stepped_over) over n as next_stepped_over
    from (${counted}) as c window n as (order by ${order("c.place", "c.id")})`;
  const fits = (met, steppedOver) => `(${met} <= $5::bigint and ${steppedOver} <= $4::bigint)`;
  const own = fits("a.met", "a.stepped_over");
  return {
    name: `count_${index}${descending ? "_down" : ""}`,
    text: `
    select a.id, a.place, a.met, a.stepped_over, nullif(${own}, false), nullif(a.next_met is not null, false),
      nullif(a.walked = $3::bigint, false)
    from (${ahead}) as a
    where case when ${own} then a.next_met is null or not ${fits("a.next_met", "a.next_stepped_over")}
      else a.walked = 1 end
    limit 1`
  };
};
var init_read_statements2 = __esm(() => {
  init_record_json();
  init_statements();
  getRecord = {
    name: "get",
    text: `select r.data, r.ttl, r.updated_at from cubby_record as r where ${theRecord} and ${live(4)}`
  };
  selected = {
    data: { prefix: "scan", data: "r.data", size: `${recordFrameBytesMin} + ${keyBytes} + octet_length(r.data)` },
    keys: { prefix: "scan_keys", data: `''::text`, size: `${headFrameBytesMin} + ${keyBytes}` }
  };
  findRecords = {
    name: "find",
    text: `
    select p.place, p.ttl, p.updated_at, case when p.bytes <= $5::bigint then p.data end
    from (
      select w.*, sum(w.size) over (order by w.place rows unbounded preceding) as bytes
      from (
        select v.place, l.*
        from unnest($1::bytea[], $2::bytea[]) with ordinality as v (hash_key, range_key, place)
        cross join lateral (
          select r.ttl, r.updated_at, r.data, ${selected.data.size} as size from cubby_record as r
          where r.table_id = $3::bigint and r.hash_key = v.hash_key and r.range_key = v.range_key and ${live(4)} limit 1
        ) as l
      ) as w
    ) as p
    where p.bytes - p.size <= $5::bigint order by p.place`
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
  countColumn = {
    id: 0,
    place: 1,
    counted: 2,
    steppedOver: 3,
    fits: 4,
    hasNext: 5,
    endsWalk: 6
  };
});

// src/engines/postgres/records/finder.ts
var findByKeys = async (db, holder, tableId, keys, nowMs) => {
  const hashKeys = bytesArray(keys.map(({ hashKey }) => hashKey));
  const rangeKeys = bytesArray(keys.map(({ rangeKey }) => rangeKey));
  const values = [hashKeys, rangeKeys, tableId, nowSeconds(nowMs), pageBytesMax];
  const [result] = await db.read(holder, { statement: findRecords, values });
  const found = new FoundRecords;
  const skipTo = (position) => {
    while (found.entries.length < position)
      found.add(undefined);
  };
  for (const [place, ttl, updatedAt, data] of result.rows) {
    const position = Number(place) - 1;
    skipTo(position);
    if (data == null)
      return found.entries;
    const { hashKey, rangeKey } = keys[position];
    const ttlSeconds = ttl == null ? null : Number(ttl);
    if (!found.add({ hashKey, rangeKey, data, ttlSeconds, updatedAtMs: Number(updatedAt) }))
      return found.entries;
  }
  skipTo(keys.length);
  return found.entries;
};
var init_finder = __esm(() => {
  init_limits();
  init_find();
  init_arrays();
  init_read_statements2();
});

// src/engines/postgres/records/record-writes.ts
class RecordWrites {
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
    const options = {
      callsMax: putsTogetherMax,
      groupOf: ({ orgId }) => orgId,
      fits: canGoTogether,
      send: (session, together) => this.#putTogether(session, together)
    };
    this.#puts = db.coalesce(options, (call) => this.#putAloneStep(call), true);
  }
  async write(caller, table, operations, nowMs) {
    for (let attempt = 1;attempt <= raceAttemptsMax; attempt++) {
      const results = await this.#apply(caller, table, operations, nowMs);
      if (results !== undefined)
        return { applied: true, results };
      const refusal = await this.#findRefusal(caller, table, operations, nowMs);
      if (refusal !== undefined)
        return refusal;
    }
    throw unavailable2("The record kept changing.");
  }
  #apply(caller, table, operations, nowMs) {
    if (operations.length === 1)
      return this.#writeOne(caller, table, operations[0], nowMs);
    if (this.#fromArrays && operations.every(isPlainPut))
      return this.#putBatch(caller, table, operations, nowMs);
    return this.#writeBatch(caller, table, operations, nowMs);
  }
  async#writeOne(caller, table, operation, nowMs) {
    const kind = conditionKind(operation.condition);
    const isDelete = operation.op === "delete";
    if (isDelete && kind === "absent") {
      const refusal = await this.#findRefusal(caller, table, [operation], nowMs);
      return refusal === undefined ? [{ deleted: false }] : undefined;
    }
    const row = await this.#changeOne(caller, table, operation, nowMs);
    if (row !== undefined)
      return [isDelete ? { deleted: true } : { updatedAtMs: Number(row[0]) }];
    if (!isDelete || kind !== "none")
      return;
    if (this.#guarded)
      await this.#requireActive(caller, table);
    return [{ deleted: false }];
  }
  async#changeOne(caller, table, operation, nowMs) {
    if (this.#fromArrays && isPlainPut(operation)) {
      return (await this.#puts.run(holderOf(caller), { caller, table, put: operation, nowMs })).rows[0];
    }
    const kind = conditionKind(operation.condition);
    const guardKey = this.#guarded ? [caller.apiKey?.seq ?? null] : [];
    const change = changeValues(table, operation, nowMs);
    const version = versionValues(operation);
    const step = operation.op === "delete" ? { statement: this.#deleteAlone[kind], values: [...change, ...version, ...guardKey] } : { statement: this.#putAlone[kind], values: [...change, ...guardKey, ...version] };
    const [result] = await this.#db.write(holderOf(caller), step);
    return result.rows[0];
  }
  async#putBatch(caller, table, operations, nowMs) {
    const order = inLockOrder(operations);
    const puts = order.map((place) => operations[place]);
    const rows = rowArrays(puts, order, puts.map(() => nowMs));
    const values = [nowSeconds(nowMs), ...rows, table.id, caller.apiKey?.seq ?? null];
    const [result] = await this.#db.write(holderOf(caller), { statement: putBatch, values });
    if (result.rows.length === 0)
      return;
    const versions = new Map(result.rows.map(([hash, range, version]) => [`${hash}${range}`, Number(version)]));
    return operations.map((put) => ({ updatedAtMs: versions.get(`${toHex(put.hashKey)}${toHex(put.rangeKey)}`) }));
  }
  #putAloneStep({ caller, table, put, nowMs }) {
    const guardKey = this.#guarded ? [caller.apiKey?.seq ?? null] : [];
    return { statement: this.#putAlone.none, values: [...changeValues(table, put, nowMs), ...guardKey] };
  }
  async#putTogether(session, calls) {
    if (calls.length === 1)
      return this.#db.send(session, [this.#putAloneStep(calls[0])]);
    const sorted = calls.map((call, place) => ({ ...call, place })).sort((a, b) => a.table.id - b.table.id || compareKeys(a.put, b.put));
    const rows = rowArrays(sorted.map(({ put }) => put), sorted.map(({ place }) => place), sorted.map(({ nowMs }) => nowMs));
    const guards = [
      bigintArray(sorted.map(({ table }) => table.id)),
      bigintArray(sorted.map(({ caller }) => caller.apiKey?.seq ?? null))
    ];
    const values = [nowSeconds(calls[0].nowMs), ...rows, ...guards];
    const [result] = await this.#db.send(session, [{ statement: putTogether, values }]);
    const versions = new Map(result.rows.map(([hash, range, version, id]) => [`${id}${hash}${range}`, version]));
    return calls.map(({ table, put }) => {
      const version = versions.get(`${table.id}${toHex(put.hashKey)}${toHex(put.rangeKey)}`);
      return version === undefined ? { rows: [], count: 0 } : { rows: [[version]], count: 1 };
    });
  }
  async#writeBatch(caller, table, operations, nowMs) {
    const steps = [];
    if (this.#guarded)
      steps.push({ statement: guardBatch, values: [table.id, caller.apiKey?.seq ?? null] });
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
      answers = await this.#db.write(holderOf(caller), ...steps);
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
  async#findRefusal(caller, table, operations, nowMs) {
    const conditional = operations.flatMap((operation, i) => operation.condition === undefined ? [] : [i]);
    const [state, ...versions] = await this.#db.read(holderOf(caller), this.#stateStep(caller, table), ...conditional.map((i) => ({
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
  #stateStep(caller, table) {
    return { statement: guardState, values: [table.id, caller.apiKey?.seq ?? null] };
  }
  async#requireActive(caller, table) {
    const [state] = await this.#db.read(holderOf(caller), this.#stateStep(caller, table));
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
  ...indexColumns2.map((_, column) => bytesArray(puts.map((put) => put.entries[column])))
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
}, revokedApiKey = () => new CubbyError("revoked_api_key", "The API key has been revoked."), requireActive = ([table, key]) => {
  if (key === "f")
    throw revokedApiKey();
  if (table === "f")
    throw new CubbyError("table_not_found", "The table has been deleted.");
};
var init_record_writes = __esm(() => {
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

// src/engines/postgres/records/scanner.ts
var firstExpiredRows = 250, nextExpiredRows = 4000, statementsOf = (make) => new Map(["primary", "t", "i1", "i2", "i3", "i4", "i5"].flatMap((index) => [false, true].map((descending) => [`${index} ${descending}`, make(index, descending)]))), statements, boundsOf2 = (scan) => {
  const id = scan.descending ? scan.highId : scan.lowId;
  if (scan.index === "t")
    return [scan.low, scan.high, id];
  const bytes = [asBuffer(scan.low), asBuffer(scan.high)];
  return scan.index === "primary" ? [...bytes, toBytes(scan.hash)] : [...bytes, id, toBytes(scan.hash)];
}, placeOf = (scan, row) => {
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
}, readPage = async ({ db, holder, table, scan, rowsMax, nowMs }, select = "data") => {
  const statement = statements[select].get(`${scan.index} ${scan.descending}`);
  const records = [];
  const meter = new PageMeter(records, select === "data");
  let expiredLeft = pageExpiredRowsMax;
  let rest = scan;
  let place;
  for (let slack = firstExpiredRows;; slack = nextExpiredRows) {
    const rowsLeft = rowsMax - records.length;
    const walkRows = rowsLeft + 1 + Math.min(slack, expiredLeft);
    const given = records.length === 0 ? 1 : 0;
    const budget = [walkRows, expiredLeft, rowsLeft, meter.bytesLeft(), given];
    const values = [table.id, nowSeconds(nowMs), ...budget, ...boundsOf2(rest)];
    const [result] = await db.read(holder, { statement, values });
    let last;
    for (const row of result.rows) {
      const expired = row[scanColumn.isExpired] !== null;
      if (!expired && row[scanColumn.data] === null) {
        return { records, next: last === undefined ? place : placeOf(scan, last) };
      }
      if (!expired) {
        const record = recordOf(scan, row);
        if (!meter.takes(record))
          return { records, next: last === undefined ? place : placeOf(scan, last) };
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
    place = placeOf(scan, last);
    if (gaveUp)
      return { records, next: place };
    rest = resumeScan(scan, place);
  }
}, countedPlaceOf = (scan, row) => {
  const place = row[countColumn.place];
  return { range: scan.index === "t" ? Number(place) : fromHex(place), id: Number(row[countColumn.id]) };
}, countPage = async ({ db, holder, table, scan, rowsMax, nowMs }) => {
  const statement = statements.count.get(`${scan.index} ${scan.descending}`);
  let count = 0;
  let expiredLeft = pageExpiredRowsMax;
  let rest = scan;
  let place;
  for (let slack = firstExpiredRows;; slack = nextExpiredRows) {
    const rowsLeft = rowsMax - count;
    const walkRows = rowsLeft + 1 + Math.min(slack, expiredLeft);
    const values = [table.id, nowSeconds(nowMs), walkRows, expiredLeft, rowsLeft, ...boundsOf2(rest)];
    const [result] = await db.read(holder, { statement, values });
    const row = result.rows[0];
    if (row === undefined)
      return { count, next: undefined };
    if (row[countColumn.fits] === null)
      return { count, next: place };
    count += Number(row[countColumn.counted]);
    expiredLeft -= Number(row[countColumn.steppedOver]);
    place = countedPlaceOf(scan, row);
    if (row[countColumn.hasNext] !== null)
      return { count, next: place };
    if (row[countColumn.endsWalk] === null)
      return { count, next: undefined };
    rest = resumeScan(scan, place);
  }
};
var init_scanner2 = __esm(() => {
  init_limits();
  init_record_json();
  init_scan();
  init_bytes();
  init_read_statements2();
  statements = {
    data: statementsOf((index, descending) => scanRecords(index, descending)),
    keys: statementsOf((index, descending) => scanRecords(index, descending, "keys")),
    count: statementsOf(countRecords)
  };
});

// src/engines/postgres/records/records.ts
class PostgresRecords {
  #db;
  #dialect;
  #registry;
  #writes;
  constructor(db, dialect, registry) {
    this.#db = db;
    this.#dialect = dialect;
    this.#registry = registry;
    this.#writes = new RecordWrites(db, dialect);
  }
  async get(table, { hashKey, rangeKey }, nowMs, keySeq = 0) {
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
  find(table, keys, nowMs, keySeq = 0) {
    return findByKeys(this.#db, { orgId: table.orgId, keySeq }, table.id, keys, nowMs);
  }
  scan(table, scan, rowsMax, nowMs, keySeq = 0) {
    return readPage({ db: this.#db, holder: { orgId: table.orgId, keySeq }, table, scan, rowsMax, nowMs });
  }
  scanKeys(table, scan, rowsMax, nowMs, keySeq = 0) {
    return readPage({ db: this.#db, holder: { orgId: table.orgId, keySeq }, table, scan, rowsMax, nowMs }, "keys");
  }
  count(table, scan, rowsMax, nowMs, keySeq = 0) {
    return countPage({ db: this.#db, holder: { orgId: table.orgId, keySeq }, table, scan, rowsMax, nowMs });
  }
  async write(caller, table, operations, nowMs) {
    if (!this.#dialect.guardsWrites)
      await this.#confirm(caller, table);
    return this.#writes.write(caller, table, operations, nowMs);
  }
  async#confirm(caller, table) {
    const stamp = Math.min(table.stamp, caller.apiKey?.stamp ?? table.stamp);
    if (await this.#registry.cache.isCurrent(stamp))
      return;
    const active = await this.#registry.reader.areActive(caller.orgId, table.id, caller.apiKey?.seq ?? 0);
    if (caller.apiKey !== undefined && !active.apiKey)
      throw revokedApiKey();
    if (!active.table)
      throw new CubbyError("table_not_found", "The table has been deleted.");
  }
}
var init_records2 = __esm(() => {
  init_errors();
  init_bytes();
  init_finder();
  init_read_statements2();
  init_record_writes();
  init_scanner2();
});

// src/engines/postgres/registry/api-keys.ts
class PostgresApiKeys {
  #registry;
  constructor(registry) {
    this.#registry = registry;
  }
  find(text) {
    return this.#registry.cache.findApiKey(text);
  }
  create(caller, key, nowMs) {
    return this.#registry.writes.createApiKey(caller, key, nowMs);
  }
  list(orgId, beforeSeq, limit) {
    return this.#registry.reader.listApiKeys(orgId, beforeSeq, limit);
  }
  async revoke(caller, id, nowMs) {
    const revoked = await this.#registry.writes.revokeApiKey(caller, id, nowMs);
    if (revoked === undefined)
      return;
    this.#registry.cache.moveTo(revoked.stamp);
    await this.#registry.awaitLeaseExpiry();
    return revoked;
  }
  noteUse(uses) {
    return this.#registry.writes.recordKeyUse(uses);
  }
}

// src/engines/postgres/registry/await-lease-expiry.ts
var marginMs = (leaseMs) => 20 + leaseMs / 5, inFlightMsMax = 900, cancelledMsMax = 500, writingNow, cancel, awaitLeaseExpiry = async ({ db, leaseMs, listsWriters, log }) => {
  await Bun.sleep(leaseMs + marginMs(leaseMs));
  if (!listsWriters)
    return;
  try {
    let left = await writers(db);
    left = await stillWriting(db, left, inFlightMsMax);
    if (left.size === 0)
      return;
    for (const pid of left.values())
      await db.read(noOrg, { statement: cancel, values: [pid] });
    left = await stillWriting(db, left, cancelledMsMax);
    if (left.size > 0) {
      log("warn", "a write from before a revocation or deletion is still in flight", { count: left.size });
    }
  } catch (error) {
    log("warn", "could not look for writes from before a revocation or deletion", { cause: String(error) });
  }
}, writers = async (db) => {
  const [result] = await db.read(noOrg, { statement: writingNow, values: [] });
  return new Map(result.rows.map(([pid, transaction]) => [transaction, pid]));
}, stillWriting = async (db, begun, msMax) => {
  const end = performance.now() + msMax;
  let left = begun;
  for (let pauseMs = 5;left.size > 0 && performance.now() < end; pauseMs = Math.min(pauseMs * 2, 100)) {
    await Bun.sleep(pauseMs);
    const now = await writers(db);
    left = new Map([...left].filter(([transaction]) => now.has(transaction)));
  }
  return left;
};
var init_await_lease_expiry = __esm(() => {
  init_database();
  writingNow = {
    name: "writing_now",
    text: `select l.pid, l.virtualtransaction from pg_locks l
    where l.locktype = 'relation' and l.relation = 'cubby_record'::regclass and l.mode = 'RowExclusiveLock' and l.granted
      and l.database = (select d.oid from pg_database d where d.datname = current_database())
      and l.pid <> pg_backend_pid()`
  };
  cancel = {
    name: "cancel",
    text: `select pg_cancel_backend(a.pid) from pg_stat_activity a
    where a.pid = $1::int and a.application_name = 'cubby' and a.state = 'active'`
  };
});

// src/engines/postgres/registry/organizations.ts
class PostgresOrganizations {
  #registry;
  constructor(registry) {
    this.#registry = registry;
  }
  create(name, keys, nowMs) {
    return this.#registry.writes.createOrganization(name, keys, nowMs, false);
  }
  bootstrap(name, keys, nowMs) {
    return this.#registry.writes.createOrganization(name, keys, nowMs, true);
  }
  find(name) {
    return this.#registry.reader.findOrganization(name);
  }
  findById(id) {
    return this.#registry.reader.findOrganizationById(id);
  }
  list() {
    return this.#registry.reader.listOrganizations();
  }
}

// src/engines/postgres/registry/registry-cache.ts
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
var init_registry_cache2 = __esm(() => {
  init_api_key();
  init_limits();
  neverRead = { monotonicMs: Number.NEGATIVE_INFINITY, wallMs: Number.NEGATIVE_INFINITY };
});

// src/engines/postgres/registry/rows.ts
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

// src/engines/postgres/registry/registry-reader.ts
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
  async findOrganizationById(id) {
    const [row] = await this.#rows(organization(id), findOrganizationById, id);
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
var statement = (name, text) => ({ name, text }), findKey, listKeys, findOrganization, findOrganizationById, listOrganizations, findTable, findDeletedTable, listTables, listDeletedTables, listDatabases, readEpoch, isActive, behind = (name) => name?.split("\x00", 1)[0] ?? "";
var init_registry_reader = __esm(() => {
  init_limits();
  init_database();
  findKey = statement("find_key", `select ${keyColumns2}, ${epochColumn} from cubby_api_key k where k.hash = $1`);
  listKeys = statement("list_keys", `select ${keyColumns2}, ${epochColumn} from cubby_api_key k
   where k.org_id = $1::bigint and k.seq < $2::bigint order by k.org_id desc, k.seq desc limit $3::bigint`);
  findOrganization = statement("find_org", `select ${organizationColumns} from cubby_organization o where o.name = $1`);
  findOrganizationById = statement("find_org_by_id", `select ${organizationColumns} from cubby_organization o where o.id = $1::bigint`);
  listOrganizations = statement("list_orgs", `select ${organizationColumns} from cubby_organization o order by o.name`);
  findTable = statement("find_table", `select ${tableColumns2}, ${epochColumn} from cubby_table t
   where t.org_id = $1::bigint and t.db = $2 and t.name = $3 and t.deleted_at is null`);
  findDeletedTable = statement("find_deleted_table", `select ${tableColumns2}, ${epochColumn} from cubby_table t
   where t.org_id = $1::bigint and t.db = $2 and t.name = $3 and t.deleted_at > $4::bigint and not t.purging
   order by t.org_id desc, t.db desc, t.name desc, t.deleted_at desc limit 1`);
  listTables = statement("list_tables", `select ${tableColumns2}, ${epochColumn} from cubby_table t
   where t.org_id = $1::bigint and t.db = $2 and t.name > $3 and t.deleted_at is null order by t.name limit $4::bigint`);
  listDeletedTables = statement("list_deleted_tables", `select ${tableColumns2}, ${epochColumn} from cubby_table t
   where t.org_id = $1::bigint and t.db = $2 and (t.name, t.deleted_at) > ($3, $4::bigint)
     and t.deleted_at > $5::bigint and not t.purging
   order by t.name, t.deleted_at limit $6::bigint`);
  listDatabases = statement("list_databases", `with recursive d (db, place) as (
     (select t.db, 1 from cubby_table t
      where t.org_id = $1::bigint and t.deleted_at is null and t.db > $2 order by t.db limit 1)
     union all
     select (select t.db from cubby_table t
       where t.org_id = $1::bigint and t.deleted_at is null and t.db > d.db order by t.db limit 1), d.place + 1
     from d where d.db is not null and d.place < $3::bigint
   ) select d.db from d where d.db is not null order by d.place`);
  readEpoch = statement("epoch", `select ${epochColumn}`);
  isActive = statement("is_active", `select coalesce((select t.deleted_at is null from cubby_table t where t.id = $1::bigint), false),
     coalesce((select k.revoked_at is null from cubby_api_key k where k.seq = $2::bigint), false)`);
});

// src/engines/postgres/registry/registry-writes.ts
class RegistryWrites {
  #db;
  constructor(db) {
    this.#db = db;
  }
  async#change(caller, ...steps) {
    const opening = [step3(lockOrganization, caller.orgId), step3(guardKey, caller.apiKey?.seq ?? null)];
    const results = await refusingRevoked(this.#db.write(holderOf(caller), ...opening, ...steps));
    return results.slice(opening.length);
  }
  async createApiKey(caller, key, nowMs) {
    const [made] = await this.#change(caller, step3(insertKey, ...keyValues2(caller.orgId, key, nowMs)));
    return toApiKey2(made.rows[0]);
  }
  async revokeApiKey(caller, id, nowMs) {
    const { orgId } = caller;
    if (id.includes("\x00"))
      return;
    const [, revoked] = await this.#change(caller, step3(moveEpochForKey, id, orgId), step3(revokeKey, id, orgId, nowMs));
    const row = revoked.rows[0];
    return row && toApiKey2(row);
  }
  async recordKeyUse(uses) {
    const sorted = uses.toSorted((a, b) => a.id < b.id ? -1 : 1);
    for (let at = 0;at < sorted.length; at += keyUsesPerWrite) {
      const part = sorted.slice(at, at + keyUsesPerWrite);
      await this.#db.write(noOrg, ...part.map(({ id, atMs }) => step3(noteKeyUse, id, atMs)));
    }
  }
  createOrganization(name, keys, nowMs, onlyIfFirst) {
    const insert = onlyIfFirst ? insertFirstOrganization : insertOrganization;
    return this.#db.transaction(noOrg, async ({ send, commit }) => {
      const [, made] = await send(step3(lockStore2), step3(insert, name, nowMs));
      const row = made.rows[0];
      if (row === undefined)
        return;
      const organization = toOrganization2(row);
      await commit(...keys.map((key) => step3(insertKey, ...keyValues2(organization.id, key, nowMs))));
      return organization;
    });
  }
  async createTable(caller, db, name, indices, nowMs) {
    const { orgId } = caller;
    const [made, active] = await this.#change(caller, step3(insertTable, orgId, db, name, JSON.stringify(indices), nowMs), step3(activeTable, orgId, db, name));
    return { table: toTable2(active.rows[0]), created: made.rows.length > 0 };
  }
  async deleteTable(caller, db, name, nowMs) {
    const { orgId } = caller;
    const [, deleted] = await this.#change(caller, step3(moveEpochForTable, orgId, db, name), step3(markDeleted, orgId, db, name, nowMs));
    const row = deleted.rows[0];
    return row && toTable2(row);
  }
  restoreTable(caller, db, name, deletedAtMs, nowMs) {
    const { orgId, apiKey } = caller;
    const recoverable = (at) => step3(recoverableTables, orgId, db, name, nowMs - recoveryMs, at);
    return refusingRevoked(this.#db.transaction(holderOf(caller), async ({ send, commit }) => {
      const [, , active, newest, chosen] = await send(step3(lockOrganization, orgId), step3(guardKey, apiKey?.seq ?? null), step3(activeTable, orgId, db, name), recoverable(null), recoverable(deletedAtMs ?? null));
      const present = active.rows[0];
      if (present !== undefined && newest.rows.length === 0)
        return { outcome: "active", table: toTable2(present) };
      const row = chosen.rows[0];
      if (row === undefined)
        return { outcome: "missing" };
      const table = toTable2(row);
      if (present !== undefined)
        return { outcome: "taken", deletedAtMs: table.deletedAtMs };
      const [restored] = await commit(step3(unmarkDeleted, table.id));
      const back = restored.rows[0];
      return back === undefined ? { outcome: "missing" } : { outcome: "restored", table: toTable2(back) };
    }));
  }
}
var step3 = (statement, ...values) => ({ statement, values }), lockOrganization, guardKey, insertKey, moveEpochForKey, revokeKey, noteKeyUse, lockStore2, insertOrganization, insertFirstOrganization, named = "t.org_id = $1::bigint and t.db = $2 and t.name = $3", insertTable, activeTable, moveEpochForTable, markDeleted, recoverableTables, unmarkDeleted, keyValues2 = (orgId, key, nowMs) => [
  ...[key.id, orgId, key.kind, key.name === null ? null : JSON.stringify(key.name), key.hash, key.lastFour],
  ...[key.databases === null ? null : JSON.stringify(key.databases), nowMs, key.expiresAtMs]
], keyUsesPerWrite = 500, refusingRevoked = async (change) => {
  try {
    return await change;
  } catch (error) {
    throw isRaised(error) ? revokedApiKey() : error;
  }
};
var init_registry_writes = __esm(() => {
  init_limits();
  init_database();
  init_failure();
  init_record_writes();
  lockOrganization = {
    name: "lock_org",
    text: "select o.id from cubby_organization o where o.id = $1::bigint for update"
  };
  guardKey = {
    name: "guard_key",
    text: `select 1 / (case when $1::bigint is null
    or exists (select 1 from cubby_api_key k where k.seq = $1::bigint and k.revoked_at is null) then 1 else 0 end)`
  };
  insertKey = {
    name: "insert_key",
    text: `insert into cubby_api_key as k (id, org_id, kind, name, hash, last_four, databases, created_at, expires_at)
    values ($1, $2::bigint, $3, $4, $5, $6, $7, $8::bigint, $9::bigint) returning ${keyColumns2}, ${epochColumn}`
  };
  moveEpochForKey = {
    name: "move_epoch_key",
    text: `update cubby_store set registry_epoch = registry_epoch + 1 where exists
    (select 1 from cubby_api_key k where k.id = $1 and k.org_id = $2::bigint and k.revoked_at is null)`
  };
  revokeKey = {
    name: "revoke_key",
    text: `update cubby_api_key as k set revoked_at = coalesce(k.revoked_at, $3::bigint)
    where k.id = $1 and k.org_id = $2::bigint returning ${keyColumns2}, ${epochColumn}`
  };
  noteKeyUse = {
    name: "note_key_use",
    text: `update cubby_api_key as k set last_used_at = $2::bigint
    where k.id = $1 and coalesce(k.last_used_at, 0) < $2::bigint`
  };
  lockStore2 = { name: "lock_store", text: "select s.id from cubby_store s for update" };
  insertOrganization = {
    name: "insert_org",
    text: `insert into cubby_organization as o (name, created_at) values ($1, $2::bigint)
    on conflict (name) do nothing returning ${organizationColumns}`
  };
  insertFirstOrganization = {
    name: "insert_first_org",
    text: `insert into cubby_organization as o (name, created_at)
    select $1, $2::bigint where not exists (select 1 from cubby_organization) returning ${organizationColumns}`
  };
  insertTable = {
    name: "insert_table",
    text: `insert into cubby_table as t (org_id, db, name, indices, created_at) values ($1::bigint, $2, $3, $4, $5::bigint)
    on conflict (org_id, db, name) where deleted_at is null do nothing returning t.id`
  };
  activeTable = {
    name: "active_table",
    text: `select ${tableColumns2}, ${epochColumn} from cubby_table t where ${named} and t.deleted_at is null`
  };
  moveEpochForTable = {
    name: "move_epoch_table",
    text: `update cubby_store set registry_epoch = registry_epoch + 1
    where exists (select 1 from cubby_table t where ${named} and t.deleted_at is null)`
  };
  markDeleted = {
    name: "mark_deleted",
    text: `update cubby_table as t set deleted_at = greatest($4::bigint, 1 + coalesce((select max(d.deleted_at)
      from cubby_table d where d.org_id = $1::bigint and d.db = $2 and d.name = $3 and d.deleted_at is not null), 0))
    where ${named} and t.deleted_at is null returning ${tableColumns2}, ${epochColumn}`
  };
  recoverableTables = {
    name: "recoverable_tables",
    text: `select ${tableColumns2}, ${epochColumn} from cubby_table t
    where ${named} and t.deleted_at > $4::bigint and not t.purging and ($5::bigint is null or t.deleted_at = $5::bigint)
    order by t.org_id desc, t.db desc, t.name desc, t.deleted_at desc limit 1`
  };
  unmarkDeleted = {
    name: "unmark_deleted",
    text: `update cubby_table as t set deleted_at = null where t.id = $1::bigint and not t.purging
    returning ${tableColumns2}, ${epochColumn}`
  };
});

// src/engines/postgres/registry/tables.ts
class PostgresTables {
  #registry;
  constructor(registry) {
    this.#registry = registry;
  }
  find(orgId, db, name) {
    return this.#registry.cache.findTable(orgId, db, name);
  }
  findDeleted(orgId, db, name, nowMs) {
    return this.#registry.reader.findDeletedTable(orgId, db, name, nowMs);
  }
  create(caller, db, name, indices, nowMs) {
    return this.#registry.writes.createTable(caller, db, name, indices, nowMs);
  }
  async delete(caller, db, name, nowMs) {
    const deleted = await this.#registry.writes.deleteTable(caller, db, name, nowMs);
    if (deleted === undefined)
      return;
    this.#registry.cache.moveTo(deleted.stamp);
    await this.#registry.awaitLeaseExpiry();
    return deleted;
  }
  restore(caller, db, name, deletedAtMs, nowMs) {
    return this.#registry.writes.restoreTable(caller, db, name, deletedAtMs, nowMs);
  }
  list(listing) {
    return this.#registry.reader.listTables(listing);
  }
  listDeleted(listing, nowMs) {
    return this.#registry.reader.listDeletedTables(listing, nowMs);
  }
  listDatabases(orgId, after, limit) {
    return this.#registry.reader.listDatabases(orgId, after, limit);
  }
}

// src/engines/postgres/transfer/dump.ts
async function* dumpRecords2(session, send, tableId, afterId) {
  const cursor = `dump_${tableId}_${afterId}`;
  await session.run(`declare ${cursor} no scroll cursor for
    select hash_key, range_key, octet_length(data) from cubby_record
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
      if (bytes < chunkBytes3)
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
var chunkBytes3, chunkRows2 = 500, cursorKey, organizations, keys, tables3, record, count, openDump2 = async (session) => {
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
    cursorKey: async () => {
      const [secret, acceptsPlain] = (await rows(cursorKey))[0];
      return { secret: bytesOfHex(secret), acceptsPlain: acceptsPlain === "t" };
    },
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
        const page = await rows(tables3, last);
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
var init_dump2 = __esm(() => {
  init_bytes();
  init_failure();
  init_statements();
  chunkBytes3 = 1024 * 1024;
  cursorKey = {
    name: "dump_cursor_key",
    text: "select s.cursor_key, s.accepts_plain_cursors from cubby_store s"
  };
  organizations = {
    name: "dump_orgs",
    text: `select ${organizationColumns} from cubby_organization o order by o.id`
  };
  keys = {
    name: "dump_keys",
    text: `select ${keyColumns2}, k.hash from cubby_api_key k where k.seq > $1::bigint order by k.seq limit ${chunkRows2}`
  };
  tables3 = {
    name: "dump_tables",
    text: `select ${tableColumns2}, t.purging from cubby_table t where t.id > $1::bigint order by t.id limit ${chunkRows2}`
  };
  record = {
    name: "dump_record",
    text: `select r.id, r.hash_key, r.range_key, r.data, r.ttl, r.updated_at, ${indexColumns2.map((column) => `r.${column}`).join(", ")}
    from cubby_record r where r.table_id = $1::bigint and r.hash_key = $2::bytea and r.range_key = $3::bytea`
  };
  count = {
    name: "dump_count",
    text: "select count(*) from cubby_record r where r.table_id = $1::bigint"
  };
});

// src/engines/postgres/transfer/load.ts
var places = (count) => Array.from({ length: count }, (_, i) => `$${i + 1}`).join(", "), loadCursorKey, loadOrganization, loadKey, loadTable, loadRecord, recordTypes, loadRecords, recordsAtOnce = (records) => ({
  statement: loadRecords,
  values: [
    ...[bigintArray(records.map(({ id }) => id)), bigintArray(records.map(({ tableId }) => tableId))],
    ...[bytesArray(records.map(({ hashKey }) => hashKey)), bytesArray(records.map(({ rangeKey }) => rangeKey))],
    ...[textArray(records.map(({ data }) => data)), bigintArray(records.map(({ ttlSeconds }) => ttlSeconds))],
    bigintArray(records.map(({ updatedAtMs }) => updatedAtMs)),
    ...indexColumns2.map((_, column) => bytesArray(records.map(({ entries }) => entries[column])))
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
}), raiseOrganizations, raiseKeys, raiseTables, raiseRecords, cursorKeyStep = ({ secret, acceptsPlain }) => ({
  statement: loadCursorKey,
  values: [asBuffer(secret), acceptsPlain ? "t" : "f"]
}), json = (value) => value === null ? null : JSON.stringify(value), raise = (statement, ids) => ids.length === 0 ? [] : [{ statement, values: [ids.reduce((most, id) => Math.max(most, id))] }], loadRows = async (db, rows, fromArrays) => {
  const { cursorKey, organizations = [], apiKeys = [], tables = [], records = [] } = rows;
  const steps = [
    ...cursorKey === undefined ? [] : [cursorKeyStep(cursorKey)],
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
  loadCursorKey = {
    name: "load_cursor_key",
    text: "update cubby_store set cursor_key = $1::bytea, accepts_plain_cursors = $2::boolean"
  };
  loadOrganization = {
    name: "load_org",
    text: "insert into cubby_organization (id, name, created_at) values ($1, $2, $3) on conflict do nothing"
  };
  loadKey = {
    name: "load_key",
    text: `insert into cubby_api_key (seq, id, org_id, kind, name, hash, last_four, databases, created_at, last_used_at,
    expires_at, revoked_at) values (${places(12)}) on conflict do nothing`
  };
  loadTable = {
    name: "load_table",
    text: `insert into cubby_table (id, org_id, db, name, indices, created_at, deleted_at, purging)
    values (${places(8)}) on conflict do nothing`
  };
  loadRecord = {
    name: "load_record",
    text: `insert into cubby_record (id, table_id, hash_key, range_key, data, ttl, updated_at, ${indexColumns2.join(", ")})
    values (${places(7 + indexColumns2.length)}) on conflict do nothing`
  };
  recordTypes = [
    "bigint",
    "bigint",
    "bytea",
    "bytea",
    "text",
    "bigint",
    "bigint",
    ...indexColumns2.map(() => "bytea")
  ];
  loadRecords = {
    name: "load_records",
    text: `insert into cubby_record (id, table_id, hash_key, range_key, data, ttl, updated_at, ${indexColumns2.join(", ")})
    select * from unnest(${recordTypes.map((type, i) => `$${i + 1}::${type}[]`).join(", ")}) on conflict do nothing`
  };
  raiseOrganizations = raiseSequence("cubby_organization_id_seq");
  raiseKeys = raiseSequence("cubby_api_key_seq_seq");
  raiseTables = raiseSequence("cubby_table_id_seq");
  raiseRecords = raiseSequence("cubby_record_id");
});

// src/engines/postgres/transfer/transfer.ts
class PostgresTransfer {
  importBatchRecords = batchOperationsMax;
  #options;
  constructor(options) {
    this.#options = options;
  }
  async openDump() {
    return openDump2(await this.#options.openLongSession());
  }
  async load(rows) {
    const { db, putsFromArrays, onCursorKey } = this.#options;
    await loadRows(db, rows, putsFromArrays);
    if (rows.cursorKey !== undefined)
      onCursorKey(rows.cursorKey);
  }
  async lastRecordId(tableId) {
    const session = await this.#options.openLongSession();
    try {
      const [row] = await session.run(`select max(id) from cubby_record where table_id = ${Math.trunc(tableId)}`);
      return Number(row[0]);
    } finally {
      await session.close();
    }
  }
}
var init_transfer2 = __esm(() => {
  init_limits();
  init_dump2();
  init_load();
});

// src/engines/postgres/engine.ts
class PostgresEngine {
  description;
  organizations;
  apiKeys;
  tables;
  records;
  maintenance;
  transfer;
  #pool;
  #db;
  #cursorSeal;
  constructor({ pool, db, dialect, store, sweepClock, log, openLongSession }) {
    this.description = dialect.description;
    this.#pool = pool;
    this.#db = db;
    this.#cursorSeal = new CursorSeal(store.cursorKey);
    const reader = new RegistryReader(db);
    const registry = {
      reader,
      cache: new RegistryCache2(reader, store.leaseMs),
      writes: new RegistryWrites(db),
      awaitLeaseExpiry: () => awaitLeaseExpiry({ db, leaseMs: store.leaseMs, listsWriters: dialect.listsWriters, log })
    };
    const { namesManyTables, putsFromArrays } = dialect;
    this.organizations = new PostgresOrganizations(registry);
    this.apiKeys = new PostgresApiKeys(registry);
    this.tables = new PostgresTables(registry);
    this.records = new PostgresRecords(db, dialect, registry);
    this.maintenance = new PostgresMaintenance({ db, clock: sweepClock, namesManyTables, openLongSession });
    this.transfer = new PostgresTransfer({
      db,
      putsFromArrays,
      openLongSession,
      onCursorKey: (key) => {
        this.#cursorSeal = new CursorSeal(key);
      }
    });
  }
  get cursorSeal() {
    return this.#cursorSeal;
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
  const { waitMsMax = 5000, sweepClock = "database", log = () => {} } = options;
  const { poolSize = postgresFlags["pool-size"].default } = options;
  const { statementMsMax = postgresFlags["statement-timeout"].default } = options;
  const url = parseStoreUrl(options.url, options.urlGivenAs);
  let dialect;
  let store;
  let first;
  try {
    const session = await Session.connect(url, connectMsMax);
    try {
      const facts = await readServerFacts(session);
      dialect = { ...detectDialect(facts, statementMsMax), ...options.dialect };
      first = await connectFirst(session, url, dialect);
      const { mustExist = false, leaseMs = leaseMsDefault } = options;
      store = await prepareStore2(session, { dialect, shown: url.shown, mustExist, leaseMs, log });
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
var init_engine2 = __esm(() => {
  init_cursor_seal();
  init_connect();
  init_database();
  init_driver();
  init_failure();
  init_pool();
  init_store_url();
  init_detect_dialect();
  init_maintenance2();
  init_prepare_store2();
  init_records2();
  init_await_lease_expiry();
  init_registry_cache2();
  init_registry_reader();
  init_registry_writes();
  init_settings();
  init_transfer2();
  readOnly = { name: "read_only", text: `select current_setting('transaction_read_only')` };
});

// src/engines/postgres/closed-store.ts
var noBackup = (instead) => new OperatorError(`backup is for the embedded engine; with PostgreSQL use ${instead} (docs/engines.md)`), postgresStore = (url, settings = {}, urlGivenAs) => ({
  describe() {
    const { protocol, host, pathname } = new URL(url);
    return `${protocol}//${host}${pathname}`;
  },
  open: ({ mustExist, log }) => openPostgresEngine({ url, urlGivenAs, mustExist, log, ...settings }),
  openWorker(channel, log) {
    channel.onClose(() => process.exit(1));
    return openPostgresEngine({ url, urlGivenAs, log, ...settings });
  },
  workerExitHint: () => {
    return;
  },
  async createBackup() {
    throw noBackup("pg_dump");
  },
  async streamBackup() {
    throw noBackup("pg_dump");
  },
  async restoreBackup() {
    throw noBackup("pg_restore");
  }
});
var init_closed_store2 = __esm(() => {
  init_operator_error();
  init_engine2();
});

// src/cli/transfer/read-lines.ts
import { createReadStream, statSync as statSync5 } from "fs";
import { Readable } from "stream";
import { createGunzip } from "zlib";
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
      if (chunk.length > 1 && (chunk.readUInt16BE(0) === 65279 || chunk.readUInt16BE(0) === 65534)) {
        throw new OperatorError("the file is UTF-16, not UTF-8; convert it first: iconv -f UTF-16 -t UTF-8");
      }
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
var lineBytesMax, recordBytesMax, readLines = (file) => {
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
}, fileSize = (file) => {
  try {
    const stat = statSync5(file);
    if (stat.isDirectory())
      throw new OperatorError(`${file} is a directory`);
    return stat.isFile() ? stat.size : undefined;
  } catch (error) {
    throw readFailure(file, error);
  }
}, readFailure = (file, error) => {
  if (error instanceof OperatorError)
    return error;
  const name = file === "-" ? "standard input" : file;
  if (error.code === "ENOENT")
    return new OperatorError(`there is no file ${file}`);
  if (error.code?.startsWith("Z_"))
    return new OperatorError(`${name} is damaged or cut short: ${error.message}`);
  return new OperatorError(`${name} cannot be read: ${error.message}`);
}, unpack = async (chunks) => {
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
}, strict, notUtf8 = "the line is not valid UTF-8. Convert the file first, for example: iconv -f WINDOWS-1252 -t UTF-8.", decodeLine = (bytes) => {
  try {
    return strict.decode(bytes);
  } catch {
    return { fault: notUtf8, lossyText: Buffer.from(bytes).toString("latin1") };
  }
}, decodeLines = (bytes) => {
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
}, tooLong;
var init_read_lines = __esm(() => {
  init_limits();
  init_operator_error();
  lineBytesMax = bodyBytesMax;
  recordBytesMax = lineBytesMax;
  strict = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true });
  tooLong = { fault: `the line is longer than ${lineBytesMax} bytes.` };
});

// ../../node_modules/csv-parse/lib/api/CsvError.js
var CsvError;
var init_CsvError = __esm(() => {
  CsvError = class CsvError extends Error {
    constructor(code, message, options, ...contexts) {
      if (Array.isArray(message))
        message = message.join(" ").trim();
      super(message);
      if (Error.captureStackTrace !== undefined) {
        Error.captureStackTrace(this, CsvError);
      }
      this.code = code;
      for (const context of contexts) {
        for (const key in context) {
          const value = context[key];
          this[key] = Buffer.isBuffer(value) ? value.toString(options.encoding) : value == null ? value : JSON.parse(JSON.stringify(value));
        }
      }
    }
  };
});

// ../../node_modules/csv-parse/lib/utils/is_object.js
var is_object = function(obj) {
  return typeof obj === "object" && obj !== null && !Array.isArray(obj);
};
var init_is_object = () => {};

// ../../node_modules/csv-parse/lib/api/normalize_columns_array.js
var normalize_columns_array = function(columns) {
  const normalizedColumns = [];
  for (let i = 0, l = columns.length;i < l; i++) {
    const column = columns[i];
    if (column === undefined || column === null || column === false) {
      normalizedColumns[i] = { disabled: true };
    } else if (typeof column === "string" || typeof column === "number") {
      normalizedColumns[i] = { name: `${column}` };
    } else if (is_object(column)) {
      if (typeof column.name !== "string") {
        throw new CsvError("CSV_OPTION_COLUMNS_MISSING_NAME", [
          "Option columns missing name:",
          `property "name" is required at position ${i}`,
          "when column is an object literal"
        ]);
      }
      normalizedColumns[i] = column;
    } else {
      throw new CsvError("CSV_INVALID_COLUMN_DEFINITION", [
        "Invalid column definition:",
        "expect a string or a literal object,",
        `got ${JSON.stringify(column)} at position ${i}`
      ]);
    }
  }
  return normalizedColumns;
};
var init_normalize_columns_array = __esm(() => {
  init_CsvError();
  init_is_object();
});

// ../../node_modules/csv-parse/lib/utils/ResizeableBuffer.js
class ResizeableBuffer {
  constructor(size = 100) {
    this.size = size;
    this.length = 0;
    this.buf = Buffer.allocUnsafe(size);
  }
  prepend(val) {
    if (Buffer.isBuffer(val)) {
      const length = this.length + val.length;
      if (length >= this.size) {
        this.resize();
        if (length >= this.size) {
          throw Error("INVALID_BUFFER_STATE");
        }
      }
      const buf = this.buf;
      this.buf = Buffer.allocUnsafe(this.size);
      val.copy(this.buf, 0);
      buf.copy(this.buf, val.length);
      this.length += val.length;
    } else {
      const length = this.length++;
      if (length === this.size) {
        this.resize();
      }
      const buf = this.clone();
      this.buf[0] = val;
      buf.copy(this.buf, 1, 0, length);
    }
  }
  append(val) {
    const length = this.length++;
    if (length === this.size) {
      this.resize();
    }
    this.buf[length] = val;
  }
  clone() {
    return Buffer.from(this.buf.slice(0, this.length));
  }
  resize() {
    const length = this.length;
    this.size = this.size * 2;
    const buf = Buffer.allocUnsafe(this.size);
    this.buf.copy(buf, 0, 0, length);
    this.buf = buf;
  }
  toString(encoding) {
    if (encoding) {
      return this.buf.toString(encoding, 0, this.length);
    } else {
      return Uint8Array.prototype.slice.call(this.buf.slice(0, this.length));
    }
  }
  toJSON() {
    return this.toString("utf8");
  }
  reset() {
    this.length = 0;
  }
}
var ResizeableBuffer_default;
var init_ResizeableBuffer = __esm(() => {
  ResizeableBuffer_default = ResizeableBuffer;
});

// ../../node_modules/csv-parse/lib/api/init_state.js
var init_state = function(options) {
  const timchars = [
    32,
    9,
    10,
    13,
    12,
    11,
    160,
    5760,
    8192,
    8193,
    8194,
    8195,
    8196,
    8197,
    8198,
    8199,
    8200,
    8201,
    8202,
    8232,
    8233,
    8239,
    8287,
    12288,
    65279
  ].reduce((acc, codepoint) => {
    const encoded = Buffer.from(String.fromCharCode(codepoint), options.encoding);
    if (codepoint !== 63 && encoded.length === 1 && encoded[0] === 63) {
      return acc;
    }
    acc.push(encoded);
    return acc;
  }, []);
  const timcharFirstBytes = new Uint8Array(256);
  for (const t of timchars)
    timcharFirstBytes[t[0]] = 1;
  return {
    bomSkipped: false,
    bufBytesStart: 0,
    castField: options.cast_function,
    commenting: false,
    delimiterBufPrevious: undefined,
    delimiterDiscovered: false,
    error: undefined,
    enabled: options.from_line === 1,
    escaping: false,
    escapeIsQuote: Buffer.isBuffer(options.escape) && Buffer.isBuffer(options.quote) && Buffer.compare(options.escape, options.quote) === 0,
    expectedRecordLength: Array.isArray(options.columns) ? options.columns.length : undefined,
    field: new ResizeableBuffer_default(20),
    firstLineToHeaders: options.cast_first_line_to_header,
    needMoreDataSize: Math.max(options.comment !== null ? options.comment.length : 0, ...options.delimiter ? options.delimiter.map((delimiter) => delimiter.length) : [], options.delimiter_auto ? 1 : 0, options.quote !== null ? options.quote.length : 0, ...timchars.map((t) => t.length)),
    previousBuf: undefined,
    quoting: false,
    stop: false,
    rawBuffer: new ResizeableBuffer_default(100),
    record: [],
    recordHasError: false,
    record_length: 0,
    recordDelimiterMaxLength: options.record_delimiter.length === 0 ? 0 : Math.max(...options.record_delimiter.map((v) => v.length)),
    trimChars: [
      Buffer.from(" ", options.encoding)[0],
      Buffer.from("\t", options.encoding)[0]
    ],
    wasQuoting: false,
    wasRowDelimiter: false,
    timchars,
    timcharFirstBytes
  };
};
var init_init_state = __esm(() => {
  init_ResizeableBuffer();
});

// ../../node_modules/csv-parse/lib/utils/underscore.js
var underscore = function(str) {
  return str.replace(/([A-Z])/g, function(_, match) {
    return "_" + match.toLowerCase();
  });
};
var init_underscore = () => {};

// ../../node_modules/csv-parse/lib/api/normalize_options.js
var normalize_options = function(opts) {
  const options = {};
  for (const opt in opts) {
    options[underscore(opt)] = opts[opt];
  }
  if (options.encoding === undefined || options.encoding === true) {
    options.encoding = "utf8";
  } else if (options.encoding === null || options.encoding === false) {
    options.encoding = null;
  } else if (typeof options.encoding !== "string" && options.encoding !== null) {
    throw new CsvError("CSV_INVALID_OPTION_ENCODING", [
      "Invalid option encoding:",
      "encoding must be a string or null to return a buffer,",
      `got ${JSON.stringify(options.encoding)}`
    ], options);
  }
  if (options.bom === undefined || options.bom === null || options.bom === false) {
    options.bom = false;
  } else if (options.bom !== true) {
    throw new CsvError("CSV_INVALID_OPTION_BOM", [
      "Invalid option bom:",
      "bom must be true,",
      `got ${JSON.stringify(options.bom)}`
    ], options);
  }
  options.cast_function = null;
  if (options.cast === undefined || options.cast === null || options.cast === false || options.cast === "") {
    options.cast = undefined;
  } else if (typeof options.cast === "function") {
    options.cast_function = options.cast;
    options.cast = true;
  } else if (options.cast !== true) {
    throw new CsvError("CSV_INVALID_OPTION_CAST", [
      "Invalid option cast:",
      "cast must be true or a function,",
      `got ${JSON.stringify(options.cast)}`
    ], options);
  }
  if (options.cast_date === undefined || options.cast_date === null || options.cast_date === false || options.cast_date === "") {
    options.cast_date = false;
  } else if (options.cast_date === true) {
    options.cast_date = function(value) {
      const date = Date.parse(value);
      return !isNaN(date) ? new Date(date) : value;
    };
  } else if (typeof options.cast_date !== "function") {
    throw new CsvError("CSV_INVALID_OPTION_CAST_DATE", [
      "Invalid option cast_date:",
      "cast_date must be true or a function,",
      `got ${JSON.stringify(options.cast_date)}`
    ], options);
  }
  options.cast_first_line_to_header = undefined;
  if (options.columns === true) {
    options.cast_first_line_to_header = undefined;
  } else if (typeof options.columns === "function") {
    options.cast_first_line_to_header = options.columns;
    options.columns = true;
  } else if (Array.isArray(options.columns)) {
    options.columns = normalize_columns_array(options.columns);
  } else if (options.columns === undefined || options.columns === null || options.columns === false) {
    options.columns = false;
  } else {
    throw new CsvError("CSV_INVALID_OPTION_COLUMNS", [
      "Invalid option columns:",
      "expect an array, a function or true,",
      `got ${JSON.stringify(options.columns)}`
    ], options);
  }
  if (options.group_columns_by_name === undefined || options.group_columns_by_name === null || options.group_columns_by_name === false) {
    options.group_columns_by_name = false;
  } else if (options.group_columns_by_name !== true) {
    throw new CsvError("CSV_INVALID_OPTION_GROUP_COLUMNS_BY_NAME", [
      "Invalid option group_columns_by_name:",
      "expect an boolean,",
      `got ${JSON.stringify(options.group_columns_by_name)}`
    ], options);
  } else if (options.columns === false) {
    throw new CsvError("CSV_INVALID_OPTION_GROUP_COLUMNS_BY_NAME", [
      "Invalid option group_columns_by_name:",
      "the `columns` mode must be activated."
    ], options);
  }
  if (options.comment === undefined || options.comment === null || options.comment === false || options.comment === "") {
    options.comment = null;
  } else {
    if (typeof options.comment === "string") {
      options.comment = Buffer.from(options.comment, options.encoding);
    }
    if (!Buffer.isBuffer(options.comment)) {
      throw new CsvError("CSV_INVALID_OPTION_COMMENT", [
        "Invalid option comment:",
        "comment must be a buffer or a string,",
        `got ${JSON.stringify(options.comment)}`
      ], options);
    }
  }
  if (options.comment_no_infix === undefined || options.comment_no_infix === null || options.comment_no_infix === false) {
    options.comment_no_infix = false;
  } else if (options.comment_no_infix !== true) {
    throw new CsvError("CSV_INVALID_OPTION_COMMENT", [
      "Invalid option comment_no_infix:",
      "value must be a boolean,",
      `got ${JSON.stringify(options.comment_no_infix)}`
    ], options);
  }
  if (options.delimiter_auto === undefined || options.delimiter_auto === null || options.delimiter_auto === false) {
    options.delimiter_auto = false;
  } else if (options.delimiter_auto === true) {
    options.delimiter_auto = {};
  } else if (!is_object(options.delimiter_auto)) {
    throw new CsvError("CSV_INVALID_OPTION_DELIMITER_AUTO", [
      "Invalid option delimiter_auto:",
      "delimiter_auto must be a boolean or a configuration object,",
      `got ${JSON.stringify(options.delimiter_auto)}`
    ], options);
  }
  if (options.delimiter_auto) {
    if (options.delimiter_auto.preferred === undefined)
      options.delimiter_auto.preferred = {
        [44]: 1.8,
        [9]: 1.8,
        [59]: 1.6,
        [32]: 1.6,
        [58]: 1.5,
        [46]: 1.4,
        [47]: 1.4
      };
    else if (!is_object(options.delimiter_auto.preferred)) {
      throw new CsvError("CSV_INVALID_OPTION_DELIMITER_AUTO", [
        "Invalid option delimiter_auto:",
        "preferred must be an object,",
        `got ${JSON.stringify(options.delimiter_auto.preferred)}`
      ], options);
    }
    if (options.delimiter_auto.score === undefined)
      options.delimiter_auto.score = (info, options) => {
        return (info.total - info.std) * (options.preferred[info.char_code] || 1);
      };
    else if (typeof options.delimiter_auto.score !== "function") {
      throw new CsvError("CSV_INVALID_OPTION_DELIMITER_AUTO", [
        "Invalid option delimiter_auto:",
        "score must be a function,",
        `got ${JSON.stringify(options.delimiter_auto.score)}`
      ], options);
    }
    if (options.delimiter_auto.size === undefined)
      options.delimiter_auto.size = 2048;
    else if (typeof options.delimiter_auto.size !== "number") {
      throw new CsvError("CSV_INVALID_OPTION_DELIMITER_AUTO", [
        "Invalid option delimiter_auto:",
        "size must be a number,",
        `got ${JSON.stringify(options.delimiter_auto.size)}`
      ], options);
    }
  }
  const delimiter_json = JSON.stringify(options.delimiter);
  if (options.delimiter_auto !== false) {
    options.delimiter = [];
  }
  if (!Array.isArray(options.delimiter)) {
    if (options.delimiter === undefined || options.delimiter === null || options.delimiter === false) {
      options.delimiter = Buffer.from(",", options.encoding);
    }
    options.delimiter = [options.delimiter];
  }
  options.delimiter = options.delimiter.map(function(delimiter) {
    if (typeof delimiter === "string") {
      delimiter = Buffer.from(delimiter, options.encoding);
    }
    if (!Buffer.isBuffer(delimiter) || delimiter.length === 0) {
      throw new CsvError("CSV_INVALID_OPTION_DELIMITER", [
        "Invalid option delimiter:",
        "delimiter must be a non empty string or buffer or array of string|buffer,",
        `got ${delimiter_json}`
      ], options);
    }
    return delimiter;
  });
  if (options.escape === undefined || options.escape === true) {
    options.escape = Buffer.from('"', options.encoding);
  } else if (typeof options.escape === "string") {
    options.escape = Buffer.from(options.escape, options.encoding);
  } else if (options.escape === null || options.escape === false) {
    options.escape = null;
  }
  if (options.escape !== null) {
    if (!Buffer.isBuffer(options.escape)) {
      throw new Error(`Invalid Option: escape must be a buffer, a string or a boolean, got ${JSON.stringify(options.escape)}`);
    }
  }
  if (options.from === undefined || options.from === null) {
    options.from = 1;
  } else {
    if (typeof options.from === "string" && /\d+/.test(options.from)) {
      options.from = parseInt(options.from);
    }
    if (Number.isInteger(options.from)) {
      if (options.from < 0) {
        throw new Error(`Invalid Option: from must be a positive integer, got ${JSON.stringify(opts.from)}`);
      }
    } else {
      throw new Error(`Invalid Option: from must be an integer, got ${JSON.stringify(options.from)}`);
    }
  }
  if (options.from_line === undefined || options.from_line === null) {
    options.from_line = 1;
  } else {
    if (typeof options.from_line === "string" && /\d+/.test(options.from_line)) {
      options.from_line = parseInt(options.from_line);
    }
    if (Number.isInteger(options.from_line)) {
      if (options.from_line <= 0) {
        throw new Error(`Invalid Option: from_line must be a positive integer greater than 0, got ${JSON.stringify(opts.from_line)}`);
      }
    } else {
      throw new Error(`Invalid Option: from_line must be an integer, got ${JSON.stringify(opts.from_line)}`);
    }
  }
  if (options.ignore_last_delimiters === undefined || options.ignore_last_delimiters === null) {
    options.ignore_last_delimiters = false;
  } else if (typeof options.ignore_last_delimiters === "number") {
    options.ignore_last_delimiters = Math.floor(options.ignore_last_delimiters);
    if (options.ignore_last_delimiters === 0) {
      options.ignore_last_delimiters = false;
    }
  } else if (typeof options.ignore_last_delimiters !== "boolean") {
    throw new CsvError("CSV_INVALID_OPTION_IGNORE_LAST_DELIMITERS", [
      "Invalid option `ignore_last_delimiters`:",
      "the value must be a boolean value or an integer,",
      `got ${JSON.stringify(options.ignore_last_delimiters)}`
    ], options);
  }
  if (options.ignore_last_delimiters === true && options.columns === false) {
    throw new CsvError("CSV_IGNORE_LAST_DELIMITERS_REQUIRES_COLUMNS", [
      "The option `ignore_last_delimiters`",
      "requires the activation of the `columns` option"
    ], options);
  }
  if (options.info === undefined || options.info === null || options.info === false) {
    options.info = false;
  } else if (options.info !== true) {
    throw new Error(`Invalid Option: info must be true, got ${JSON.stringify(options.info)}`);
  }
  if (options.max_record_size === undefined || options.max_record_size === null || options.max_record_size === false) {
    options.max_record_size = 0;
  } else if (Number.isInteger(options.max_record_size) && options.max_record_size >= 0) {} else if (typeof options.max_record_size === "string" && /\d+/.test(options.max_record_size)) {
    options.max_record_size = parseInt(options.max_record_size);
  } else {
    throw new Error(`Invalid Option: max_record_size must be a positive integer, got ${JSON.stringify(options.max_record_size)}`);
  }
  if (options.objname === undefined || options.objname === null || options.objname === false) {
    options.objname = undefined;
  } else if (Buffer.isBuffer(options.objname)) {
    if (options.objname.length === 0) {
      throw new Error(`Invalid Option: objname must be a non empty buffer`);
    }
    if (options.encoding === null) {} else {
      options.objname = options.objname.toString(options.encoding);
    }
  } else if (typeof options.objname === "string") {
    if (options.objname.length === 0) {
      throw new Error(`Invalid Option: objname must be a non empty string`);
    }
  } else if (typeof options.objname === "number") {} else {
    throw new Error(`Invalid Option: objname must be a string or a buffer, got ${options.objname}`);
  }
  if (options.objname !== undefined) {
    if (typeof options.objname === "number") {
      if (options.columns !== false) {
        throw Error("Invalid Option: objname index cannot be combined with columns or be defined as a field");
      }
    } else {
      if (options.columns === false) {
        throw Error("Invalid Option: objname field must be combined with columns or be defined as an index");
      }
    }
  }
  if (options.on_record === undefined || options.on_record === null) {
    options.on_record = undefined;
  } else if (typeof options.on_record !== "function") {
    throw new CsvError("CSV_INVALID_OPTION_ON_RECORD", [
      "Invalid option `on_record`:",
      "expect a function,",
      `got ${JSON.stringify(options.on_record)}`
    ], options);
  }
  if (options.on_skip !== undefined && options.on_skip !== null && typeof options.on_skip !== "function") {
    throw new Error(`Invalid Option: on_skip must be a function, got ${JSON.stringify(options.on_skip)}`);
  }
  if (options.quote === null || options.quote === false || options.quote === "") {
    options.quote = null;
  } else {
    if (options.quote === undefined || options.quote === true) {
      options.quote = Buffer.from('"', options.encoding);
    } else if (typeof options.quote === "string") {
      options.quote = Buffer.from(options.quote, options.encoding);
    }
    if (!Buffer.isBuffer(options.quote)) {
      throw new Error(`Invalid Option: quote must be a buffer or a string, got ${JSON.stringify(options.quote)}`);
    }
  }
  if (options.raw === undefined || options.raw === null || options.raw === false) {
    options.raw = false;
  } else if (options.raw !== true) {
    throw new Error(`Invalid Option: raw must be true, got ${JSON.stringify(options.raw)}`);
  }
  if (options.record_delimiter === undefined) {
    options.record_delimiter = [];
  } else if (typeof options.record_delimiter === "string" || Buffer.isBuffer(options.record_delimiter)) {
    if (options.record_delimiter.length === 0) {
      throw new CsvError("CSV_INVALID_OPTION_RECORD_DELIMITER", [
        "Invalid option `record_delimiter`:",
        "value must be a non empty string or buffer,",
        `got ${JSON.stringify(options.record_delimiter)}`
      ], options);
    }
    options.record_delimiter = [options.record_delimiter];
  } else if (!Array.isArray(options.record_delimiter)) {
    throw new CsvError("CSV_INVALID_OPTION_RECORD_DELIMITER", [
      "Invalid option `record_delimiter`:",
      "value must be a string, a buffer or array of string|buffer,",
      `got ${JSON.stringify(options.record_delimiter)}`
    ], options);
  }
  options.record_delimiter = options.record_delimiter.map(function(rd, i) {
    if (typeof rd !== "string" && !Buffer.isBuffer(rd)) {
      throw new CsvError("CSV_INVALID_OPTION_RECORD_DELIMITER", [
        "Invalid option `record_delimiter`:",
        "value must be a string, a buffer or array of string|buffer",
        `at index ${i},`,
        `got ${JSON.stringify(rd)}`
      ], options);
    } else if (rd.length === 0) {
      throw new CsvError("CSV_INVALID_OPTION_RECORD_DELIMITER", [
        "Invalid option `record_delimiter`:",
        "value must be a non empty string or buffer",
        `at index ${i},`,
        `got ${JSON.stringify(rd)}`
      ], options);
    }
    if (typeof rd === "string") {
      rd = Buffer.from(rd, options.encoding);
    }
    return rd;
  });
  if (typeof options.relax_column_count === "boolean") {} else if (options.relax_column_count === undefined || options.relax_column_count === null) {
    options.relax_column_count = false;
  } else {
    throw new Error(`Invalid Option: relax_column_count must be a boolean, got ${JSON.stringify(options.relax_column_count)}`);
  }
  if (typeof options.relax_column_count_less === "boolean") {} else if (options.relax_column_count_less === undefined || options.relax_column_count_less === null) {
    options.relax_column_count_less = false;
  } else {
    throw new Error(`Invalid Option: relax_column_count_less must be a boolean, got ${JSON.stringify(options.relax_column_count_less)}`);
  }
  if (typeof options.relax_column_count_more === "boolean") {} else if (options.relax_column_count_more === undefined || options.relax_column_count_more === null) {
    options.relax_column_count_more = false;
  } else {
    throw new Error(`Invalid Option: relax_column_count_more must be a boolean, got ${JSON.stringify(options.relax_column_count_more)}`);
  }
  if (typeof options.relax_quotes === "boolean") {} else if (options.relax_quotes === undefined || options.relax_quotes === null) {
    options.relax_quotes = false;
  } else {
    throw new Error(`Invalid Option: relax_quotes must be a boolean, got ${JSON.stringify(options.relax_quotes)}`);
  }
  if (typeof options.skip_empty_lines === "boolean") {} else if (options.skip_empty_lines === undefined || options.skip_empty_lines === null) {
    options.skip_empty_lines = false;
  } else {
    throw new Error(`Invalid Option: skip_empty_lines must be a boolean, got ${JSON.stringify(options.skip_empty_lines)}`);
  }
  if (typeof options.skip_records_with_empty_values === "boolean") {} else if (options.skip_records_with_empty_values === undefined || options.skip_records_with_empty_values === null) {
    options.skip_records_with_empty_values = false;
  } else {
    throw new Error(`Invalid Option: skip_records_with_empty_values must be a boolean, got ${JSON.stringify(options.skip_records_with_empty_values)}`);
  }
  if (typeof options.skip_records_with_error === "boolean") {} else if (options.skip_records_with_error === undefined || options.skip_records_with_error === null) {
    options.skip_records_with_error = false;
  } else {
    throw new Error(`Invalid Option: skip_records_with_error must be a boolean, got ${JSON.stringify(options.skip_records_with_error)}`);
  }
  if (options.rtrim === undefined || options.rtrim === null || options.rtrim === false) {
    options.rtrim = false;
  } else if (options.rtrim !== true) {
    throw new Error(`Invalid Option: rtrim must be a boolean, got ${JSON.stringify(options.rtrim)}`);
  }
  if (options.ltrim === undefined || options.ltrim === null || options.ltrim === false) {
    options.ltrim = false;
  } else if (options.ltrim !== true) {
    throw new Error(`Invalid Option: ltrim must be a boolean, got ${JSON.stringify(options.ltrim)}`);
  }
  if (options.trim === undefined || options.trim === null || options.trim === false) {
    options.trim = false;
  } else if (options.trim !== true) {
    throw new Error(`Invalid Option: trim must be a boolean, got ${JSON.stringify(options.trim)}`);
  }
  if (options.trim === true && opts.ltrim !== false) {
    options.ltrim = true;
  } else if (options.ltrim !== true) {
    options.ltrim = false;
  }
  if (options.trim === true && opts.rtrim !== false) {
    options.rtrim = true;
  } else if (options.rtrim !== true) {
    options.rtrim = false;
  }
  if (options.to === undefined || options.to === null) {
    options.to = -1;
  } else if (options.to !== -1) {
    if (typeof options.to === "string" && /\d+/.test(options.to)) {
      options.to = parseInt(options.to);
    }
    if (Number.isInteger(options.to)) {
      if (options.to <= 0) {
        throw new Error(`Invalid Option: to must be a positive integer greater than 0, got ${JSON.stringify(opts.to)}`);
      }
    } else {
      throw new Error(`Invalid Option: to must be an integer, got ${JSON.stringify(opts.to)}`);
    }
  }
  if (options.to_line === undefined || options.to_line === null) {
    options.to_line = -1;
  } else if (options.to_line !== -1) {
    if (typeof options.to_line === "string" && /\d+/.test(options.to_line)) {
      options.to_line = parseInt(options.to_line);
    }
    if (Number.isInteger(options.to_line)) {
      if (options.to_line <= 0) {
        throw new Error(`Invalid Option: to_line must be a positive integer greater than 0, got ${JSON.stringify(opts.to_line)}`);
      }
    } else {
      throw new Error(`Invalid Option: to_line must be an integer, got ${JSON.stringify(opts.to_line)}`);
    }
  }
  return options;
};
var init_normalize_options = __esm(() => {
  init_normalize_columns_array();
  init_CsvError();
  init_underscore();
  init_is_object();
});

// ../../node_modules/csv-parse/lib/utils/delimiter_discover.js
var delimiter_discover = function(records, options) {
  if (!options) {
    ({ delimiter_auto: options } = normalize_options({ delimiter_auto: true }));
  }
  if (typeof records === "string") {
    records = Buffer.from(records);
  }
  if (Buffer.isBuffer(records)) {
    records = ((data) => {
      const records = [];
      const parser = transform({ delimiter: [] });
      const push = (record) => records.push(record);
      const close = () => {};
      const error = parser.parse(data, true, push, close);
      if (error !== undefined)
        throw error;
      return records;
    })(records);
  }
  const info = Array(127).fill().map(() => ({ lines: [] }));
  records.map(([record], line) => {
    for (let i = 0, l = record.length;i < l; i++) {
      const code = record.charCodeAt(i);
      if (info[code].lines[line] === undefined)
        info[code].lines[line] = 0;
      info[code].lines[line]++;
    }
  });
  info.map((info, i) => {
    info.char_code = i;
    info.std = std(info.lines);
    info.total = info.lines.reduce((acc, val) => acc + val, 0);
    info.preferred = !!options.preferred[i];
    info.score = options.score(info, options);
  });
  const result = info.reduce((acc, info) => acc.score > info.score ? acc : info, {});
  return String.fromCharCode(result.char_code);
}, std = function(array) {
  const n = array.length;
  if (n === 0)
    return 0;
  const mean = array.reduce((a, b) => a + b) / n;
  return Math.sqrt(array.map((x) => Math.pow(x - mean, 2)).reduce((a, b) => a + b) / n);
};
var init_delimiter_discover = __esm(() => {
  init_normalize_options();
  init_api();
});

// ../../node_modules/csv-parse/lib/api/index.js
var isRecordEmpty = function(record) {
  return record.every((field) => field == null || field.toString && field.toString().trim() === "");
}, cr = 13, nl = 10, boms, transform = function(original_options = {}) {
  const info = {
    bytes: 0,
    bytes_records: 0,
    comment_lines: 0,
    empty_lines: 0,
    invalid_field_length: 0,
    lines: 1,
    records: 0
  };
  const options = normalize_options(original_options);
  return {
    info,
    original_options,
    options,
    state: init_state(options),
    __needMoreData: function(i, bufLen, end) {
      if (end)
        return false;
      const { encoding, escape, quote } = this.options;
      const { quoting, needMoreDataSize, recordDelimiterMaxLength } = this.state;
      const numOfCharLeft = bufLen - i - 1;
      const requiredLength = Math.max(needMoreDataSize, recordDelimiterMaxLength === 0 ? Buffer.from(`\r
`, encoding).length : recordDelimiterMaxLength, quoting ? (escape === null ? 0 : escape.length) + quote.length : 0, quoting ? quote.length + recordDelimiterMaxLength : 0);
      return numOfCharLeft < requiredLength;
    },
    parse: function(nextBuf, end, push, close) {
      const {
        bom,
        comment_no_infix,
        delimiter_auto,
        encoding,
        from_line,
        ltrim,
        max_record_size,
        raw,
        relax_quotes,
        rtrim,
        skip_empty_lines,
        to,
        to_line
      } = this.options;
      let { comment, escape, quote, record_delimiter } = this.options;
      const {
        bomSkipped,
        delimiterDiscovered,
        delimiterBufPrevious,
        rawBuffer,
        escapeIsQuote
      } = this.state;
      if (!delimiterDiscovered && delimiter_auto) {
        let delimiterBuf;
        if (delimiterBufPrevious === undefined) {
          delimiterBuf = nextBuf;
        } else if (delimiterBufPrevious !== undefined && nextBuf === undefined) {
          delimiterBuf = delimiterBufPrevious;
        } else {
          delimiterBuf = Buffer.concat([delimiterBufPrevious, nextBuf]);
        }
        nextBuf = undefined;
        if (end || delimiterBuf.length > delimiter_auto.size) {
          this.options.delimiter = [
            Buffer.from(delimiter_discover(delimiterBuf, this.options.delimiter_auto))
          ];
          this.state.previousBuf = delimiterBuf;
          this.state.delimiterBufPrevious = undefined;
          this.state.delimiterDiscovered = true;
        } else {
          this.state.delimiterBufPrevious = delimiterBuf;
          return;
        }
      }
      const { previousBuf } = this.state;
      let buf;
      if (previousBuf === undefined) {
        if (nextBuf === undefined) {
          close();
          return;
        } else {
          buf = nextBuf;
        }
      } else if (previousBuf !== undefined && nextBuf === undefined) {
        buf = previousBuf;
      } else {
        buf = Buffer.concat([previousBuf, nextBuf]);
      }
      if (bomSkipped === false) {
        if (bom === false) {
          this.state.bomSkipped = true;
        } else if (buf.length < 3) {
          if (end === false) {
            this.state.previousBuf = buf;
            return;
          }
        } else {
          for (const encoding in boms) {
            if (boms[encoding].compare(buf, 0, boms[encoding].length) === 0) {
              const bomLength = boms[encoding].length;
              this.state.bufBytesStart += bomLength;
              buf = buf.slice(bomLength);
              const options = normalize_options({
                ...this.original_options,
                encoding
              });
              for (const key in options) {
                this.options[key] = options[key];
              }
              ({ comment, escape, quote } = this.options);
              break;
            }
          }
          this.state.bomSkipped = true;
        }
      }
      const bufLen = buf.length;
      let pos;
      for (pos = 0;pos < bufLen; pos++) {
        if (this.__needMoreData(pos, bufLen, end)) {
          break;
        }
        if (this.state.wasRowDelimiter === true) {
          this.info.lines++;
          this.state.wasRowDelimiter = false;
        }
        if (to_line !== -1 && this.info.lines > to_line) {
          this.state.stop = true;
          close();
          return;
        }
        if (this.state.quoting === false && record_delimiter.length === 0) {
          const record_delimiterCount = this.__autoDiscoverRecordDelimiter(buf, pos);
          if (record_delimiterCount) {
            record_delimiter = this.options.record_delimiter;
          }
        }
        const chr = buf[pos];
        if (raw === true) {
          rawBuffer.append(chr);
        }
        if ((chr === cr || chr === nl) && this.state.wasRowDelimiter === false) {
          this.state.wasRowDelimiter = true;
        }
        if (this.state.escaping === true) {
          this.state.escaping = false;
        } else {
          if (escape !== null && this.state.quoting === true && this.__isEscape(buf, pos, chr) && pos + escape.length < bufLen) {
            if (escapeIsQuote) {
              if (this.__isQuote(buf, pos + escape.length)) {
                this.state.escaping = true;
                pos += escape.length - 1;
                continue;
              }
            } else {
              this.state.escaping = true;
              pos += escape.length - 1;
              continue;
            }
          }
          if (this.state.commenting === false && this.__isQuote(buf, pos)) {
            if (this.state.quoting === true) {
              const nextChr = buf[pos + quote.length];
              const isNextChrTrimable = rtrim && this.__isCharTrimable(buf, pos + quote.length);
              const isNextChrComment = comment !== null && this.__compareBytes(comment, buf, pos + quote.length, nextChr);
              const isNextChrDelimiter = this.__isDelimiter(buf, pos + quote.length, nextChr);
              const isNextChrRecordDelimiter = record_delimiter.length === 0 ? this.__autoDiscoverRecordDelimiter(buf, pos + quote.length) : this.__isRecordDelimiter(nextChr, buf, pos + quote.length);
              if (escape !== null && this.__isEscape(buf, pos, chr) && this.__isQuote(buf, pos + escape.length)) {
                pos += escape.length - 1;
              } else if (!nextChr || isNextChrDelimiter || isNextChrRecordDelimiter || isNextChrComment || isNextChrTrimable) {
                this.state.quoting = false;
                this.state.wasQuoting = true;
                pos += quote.length - 1;
                continue;
              } else if (relax_quotes === false) {
                const err = this.__error(new CsvError("CSV_INVALID_CLOSING_QUOTE", [
                  "Invalid Closing Quote:",
                  `got "${String.fromCharCode(nextChr)}"`,
                  `at line ${this.info.lines}`,
                  "instead of delimiter, record delimiter, trimable character",
                  "(if activated) or comment"
                ], this.options, this.__infoField()));
                if (err !== undefined)
                  return err;
              } else {
                this.state.quoting = false;
                this.state.wasQuoting = true;
                this.state.field.prepend(quote);
                pos += quote.length - 1;
              }
            } else {
              if (this.state.field.length !== 0) {
                if (relax_quotes === false) {
                  const info = this.__infoField();
                  const bom = Object.keys(boms).map((b) => boms[b].equals(this.state.field.toString()) ? b : false).filter(Boolean)[0];
                  const err = this.__error(new CsvError("INVALID_OPENING_QUOTE", [
                    "Invalid Opening Quote:",
                    `a quote is found on field ${JSON.stringify(info.column)} at line ${info.lines}, value is ${JSON.stringify(this.state.field.toString(encoding))}`,
                    bom ? `(${bom} bom)` : undefined
                  ], this.options, info, {
                    field: this.state.field
                  }));
                  if (err !== undefined)
                    return err;
                }
              } else {
                this.state.quoting = true;
                pos += quote.length - 1;
                continue;
              }
            }
          }
          if (this.state.quoting === false) {
            const recordDelimiterLength = this.__isRecordDelimiter(chr, buf, pos);
            if (recordDelimiterLength !== 0) {
              const skipCommentLine = this.state.commenting && this.state.wasQuoting === false && this.state.record.length === 0 && this.state.field.length === 0;
              if (skipCommentLine) {
                this.info.comment_lines++;
              } else {
                if (this.state.enabled === false && this.info.lines + (this.state.wasRowDelimiter === true ? 1 : 0) >= from_line) {
                  this.state.enabled = true;
                  this.__resetField();
                  this.__resetRecord();
                  pos += recordDelimiterLength - 1;
                  continue;
                }
                if (skip_empty_lines === true && this.state.wasQuoting === false && this.state.record.length === 0 && this.state.field.length === 0) {
                  this.info.empty_lines++;
                  pos += recordDelimiterLength - 1;
                  continue;
                }
                this.info.bytes = this.state.bufBytesStart + pos;
                const errField = this.__onField();
                if (errField !== undefined)
                  return errField;
                this.info.bytes = this.state.bufBytesStart + pos + recordDelimiterLength;
                const errRecord = this.__onRecord(push);
                if (errRecord !== undefined)
                  return errRecord;
                if (to !== -1 && this.info.records >= to) {
                  this.state.stop = true;
                  close();
                  return;
                }
              }
              this.state.commenting = false;
              pos += recordDelimiterLength - 1;
              continue;
            }
            if (this.state.commenting) {
              continue;
            }
            if (comment !== null && (comment_no_infix === false || this.state.record.length === 0 && this.state.field.length === 0)) {
              const commentCount = this.__compareBytes(comment, buf, pos, chr);
              if (commentCount !== 0) {
                this.state.commenting = true;
                continue;
              }
            }
            const delimiterLength = this.__isDelimiter(buf, pos, chr);
            if (delimiterLength !== 0) {
              this.info.bytes = this.state.bufBytesStart + pos;
              const errField = this.__onField();
              if (errField !== undefined)
                return errField;
              pos += delimiterLength - 1;
              continue;
            }
          }
        }
        if (this.state.commenting === false) {
          if (max_record_size !== 0 && this.state.record_length + this.state.field.length > max_record_size) {
            return this.__error(new CsvError("CSV_MAX_RECORD_SIZE", [
              "Max Record Size:",
              "record exceed the maximum number of tolerated bytes",
              `of ${max_record_size}`,
              `at line ${this.info.lines}`
            ], this.options, this.__infoField()));
          }
        }
        const lappend = ltrim === false || this.state.quoting === true || this.state.field.length !== 0 || !this.__isCharTrimable(buf, pos);
        const rappend = rtrim === false || this.state.wasQuoting === false;
        if (lappend === true && rappend === true) {
          this.state.field.append(chr);
        } else if (rtrim === true && !this.__isCharTrimable(buf, pos)) {
          return this.__error(new CsvError("CSV_NON_TRIMABLE_CHAR_AFTER_CLOSING_QUOTE", [
            "Invalid Closing Quote:",
            "found non trimable byte after quote",
            `at line ${this.info.lines}`
          ], this.options, this.__infoField()));
        } else {
          if (lappend === false) {
            pos += this.__isCharTrimable(buf, pos) - 1;
          }
          continue;
        }
      }
      if (end === true) {
        if (this.state.quoting === true) {
          const err = this.__error(new CsvError("CSV_QUOTE_NOT_CLOSED", [
            "Quote Not Closed:",
            `the parsing is finished with an opening quote at line ${this.info.lines}`
          ], this.options, this.__infoField()));
          if (err !== undefined)
            return err;
        } else {
          if (this.state.wasQuoting === true || this.state.record.length !== 0 || this.state.field.length !== 0) {
            this.info.bytes = this.state.bufBytesStart + pos;
            const errField = this.__onField();
            if (errField !== undefined)
              return errField;
            const errRecord = this.__onRecord(push);
            if (errRecord !== undefined)
              return errRecord;
          } else if (this.state.wasRowDelimiter === true) {
            this.info.empty_lines++;
          } else if (this.state.commenting === true) {
            this.info.comment_lines++;
          }
        }
      } else {
        this.state.bufBytesStart += pos;
        this.state.previousBuf = buf.slice(pos);
      }
      if (this.state.wasRowDelimiter === true) {
        this.info.lines++;
        this.state.wasRowDelimiter = false;
      }
    },
    __onRecord: function(push) {
      const {
        columns,
        group_columns_by_name,
        encoding,
        info,
        from,
        relax_column_count,
        relax_column_count_less,
        relax_column_count_more,
        raw,
        skip_records_with_empty_values
      } = this.options;
      const { enabled, record } = this.state;
      if (enabled === false) {
        return this.__resetRecord();
      }
      const recordLength = record.length;
      if (columns === true) {
        if (skip_records_with_empty_values === true && isRecordEmpty(record)) {
          this.__resetRecord();
          return;
        }
        return this.__firstLineToColumns(record);
      }
      if (columns === false && this.info.records === 0) {
        this.state.expectedRecordLength = recordLength;
      }
      if (recordLength !== this.state.expectedRecordLength) {
        const err = columns === false ? new CsvError("CSV_RECORD_INCONSISTENT_FIELDS_LENGTH", [
          "Invalid Record Length:",
          `expect ${this.state.expectedRecordLength},`,
          `got ${recordLength} on line ${this.info.lines}`
        ], this.options, this.__infoField(), {
          record
        }) : new CsvError("CSV_RECORD_INCONSISTENT_COLUMNS", [
          "Invalid Record Length:",
          `columns length is ${columns.length},`,
          `got ${recordLength} on line ${this.info.lines}`
        ], this.options, this.__infoField(), {
          record
        });
        if (relax_column_count === true || relax_column_count_less === true && recordLength < this.state.expectedRecordLength || relax_column_count_more === true && recordLength > this.state.expectedRecordLength) {
          this.info.invalid_field_length++;
          this.state.error = err;
        } else {
          const finalErr = this.__error(err);
          if (finalErr)
            return finalErr;
        }
      }
      if (skip_records_with_empty_values === true && isRecordEmpty(record)) {
        this.__resetRecord();
        return;
      }
      if (this.state.recordHasError === true) {
        this.__resetRecord();
        this.state.recordHasError = false;
        return;
      }
      this.info.records++;
      if (from === 1 || this.info.records >= from) {
        const { objname } = this.options;
        if (columns !== false) {
          const obj = {};
          for (let i = 0, l = record.length;i < l; i++) {
            if (columns[i] === undefined || columns[i].disabled)
              continue;
            if (group_columns_by_name === true && Object.hasOwn(obj, columns[i].name)) {
              if (Array.isArray(obj[columns[i].name])) {
                obj[columns[i].name] = obj[columns[i].name].concat(record[i]);
              } else {
                obj[columns[i].name] = [obj[columns[i].name], record[i]];
              }
            } else {
              Object.defineProperty(obj, columns[i].name, {
                value: record[i],
                enumerable: true,
                writable: true,
                configurable: true
              });
            }
          }
          if (raw === true || info === true) {
            const extRecord = Object.assign({ record: obj }, raw === true ? { raw: this.state.rawBuffer.toString(encoding) } : {}, info === true ? { info: this.__infoRecord() } : {});
            const err = this.__push(objname === undefined ? extRecord : [obj[objname], extRecord], push);
            if (err) {
              return err;
            }
          } else {
            const err = this.__push(objname === undefined ? obj : [obj[objname], obj], push);
            if (err) {
              return err;
            }
          }
        } else {
          if (raw === true || info === true) {
            const extRecord = Object.assign({ record }, raw === true ? { raw: this.state.rawBuffer.toString(encoding) } : {}, info === true ? { info: this.__infoRecord() } : {});
            const err = this.__push(objname === undefined ? extRecord : [record[objname], extRecord], push);
            if (err) {
              return err;
            }
          } else {
            const err = this.__push(objname === undefined ? record : [record[objname], record], push);
            if (err) {
              return err;
            }
          }
        }
      }
      this.__resetRecord();
    },
    __firstLineToColumns: function(record) {
      const { firstLineToHeaders } = this.state;
      try {
        const headers = firstLineToHeaders === undefined ? record : firstLineToHeaders.call(null, record);
        if (!Array.isArray(headers)) {
          return this.__error(new CsvError("CSV_INVALID_COLUMN_MAPPING", [
            "Invalid Column Mapping:",
            "expect an array from column function,",
            `got ${JSON.stringify(headers)}`
          ], this.options, this.__infoField(), {
            headers
          }));
        }
        const normalizedHeaders = normalize_columns_array(headers);
        this.state.expectedRecordLength = normalizedHeaders.length;
        this.options.columns = normalizedHeaders;
        this.__resetRecord();
        return;
      } catch (err) {
        return err;
      }
    },
    __resetRecord: function() {
      if (this.options.raw === true) {
        this.state.rawBuffer.reset();
      }
      this.state.error = undefined;
      this.state.record = [];
      this.state.record_length = 0;
    },
    __onField: function() {
      const { cast, encoding, rtrim, max_record_size } = this.options;
      const { enabled, wasQuoting } = this.state;
      if (enabled === false) {
        return this.__resetField();
      }
      let field = this.state.field.toString(encoding);
      if (rtrim === true && wasQuoting === false) {
        field = field.trimRight();
      }
      if (cast === true) {
        const [err, f] = this.__cast(field);
        if (err !== undefined)
          return err;
        field = f;
      }
      this.state.record.push(field);
      if (max_record_size !== 0 && typeof field === "string") {
        this.state.record_length += field.length;
      }
      this.__resetField();
    },
    __resetField: function() {
      this.state.field.reset();
      this.state.wasQuoting = false;
    },
    __push: function(record, push) {
      const { on_record } = this.options;
      if (on_record !== undefined) {
        const info = this.__infoRecord();
        try {
          record = on_record.call(null, record, info);
        } catch (err) {
          return err;
        }
        if (record === undefined || record === null) {
          return;
        }
      }
      this.info.bytes_records += this.info.bytes;
      push(record);
    },
    __cast: function(field) {
      const { columns, relax_column_count } = this.options;
      const isColumns = Array.isArray(columns);
      if (isColumns === true && relax_column_count && this.options.columns.length <= this.state.record.length) {
        return [undefined, undefined];
      }
      if (this.state.castField !== null) {
        try {
          const info = this.__infoField();
          return [undefined, this.state.castField.call(null, field, info)];
        } catch (err) {
          return [err];
        }
      }
      if (this.__isFloat(field)) {
        return [undefined, parseFloat(field)];
      } else if (this.options.cast_date !== false) {
        const info = this.__infoField();
        return [undefined, this.options.cast_date.call(null, field, info)];
      }
      return [undefined, field];
    },
    __compareBytes: function(sourceBuf, targetBuf, targetPos, firstByte) {
      if (sourceBuf[0] !== firstByte)
        return 0;
      const sourceLength = sourceBuf.length;
      for (let i = 1;i < sourceLength; i++) {
        if (sourceBuf[i] !== targetBuf[targetPos + i])
          return 0;
      }
      return sourceLength;
    },
    __isCharTrimable: function(buf, pos) {
      const { timchars, timcharFirstBytes } = this.state;
      const first = buf[pos];
      if (first === undefined || timcharFirstBytes[first] === 0)
        return 0;
      loop1:
        for (let i = 0;i < timchars.length; i++) {
          const timchar = timchars[i];
          for (let j = 0;j < timchar.length; j++) {
            if (timchar[j] !== buf[pos + j])
              continue loop1;
          }
          return timchar.length;
        }
      return 0;
    },
    __isDelimiter: function(buf, pos, chr) {
      const { delimiter, ignore_last_delimiters } = this.options;
      if (ignore_last_delimiters === true && this.state.record.length === this.options.columns.length - 1) {
        return 0;
      } else if (ignore_last_delimiters !== false && typeof ignore_last_delimiters === "number" && this.state.record.length === ignore_last_delimiters - 1) {
        return 0;
      }
      loop1:
        for (let i = 0;i < delimiter.length; i++) {
          const del = delimiter[i];
          if (del[0] === chr) {
            for (let j = 1;j < del.length; j++) {
              if (del[j] !== buf[pos + j])
                continue loop1;
            }
            return del.length;
          }
        }
      return 0;
    },
    __isEscape: function(buf, pos, chr) {
      const { escape } = this.options;
      if (escape === null)
        return false;
      const l = escape.length;
      if (escape[0] === chr) {
        for (let i = 0;i < l; i++) {
          if (escape[i] !== buf[pos + i]) {
            return false;
          }
        }
        return true;
      }
      return false;
    },
    __isFloat: function(value) {
      return value - parseFloat(value) + 1 >= 0;
    },
    __isQuote: function(buf, pos) {
      const { quote } = this.options;
      if (quote === null)
        return false;
      const l = quote.length;
      for (let i = 0;i < l; i++) {
        if (quote[i] !== buf[pos + i]) {
          return false;
        }
      }
      return true;
    },
    __isRecordDelimiter: function(chr, buf, pos) {
      const { record_delimiter } = this.options;
      const recordDelimiterLength = record_delimiter.length;
      loop1:
        for (let i = 0;i < recordDelimiterLength; i++) {
          const rd = record_delimiter[i];
          const rdLength = rd.length;
          if (rd[0] !== chr) {
            continue;
          }
          for (let j = 1;j < rdLength; j++) {
            if (rd[j] !== buf[pos + j]) {
              continue loop1;
            }
          }
          return rd.length;
        }
      return 0;
    },
    __autoDiscoverRecordDelimiter: function(buf, pos) {
      const { encoding } = this.options;
      const rds = [
        Buffer.from(`\r
`, encoding),
        Buffer.from(`
`, encoding),
        Buffer.from("\r", encoding)
      ];
      loop:
        for (let i = 0;i < rds.length; i++) {
          const l = rds[i].length;
          for (let j = 0;j < l; j++) {
            if (rds[i][j] !== buf[pos + j]) {
              continue loop;
            }
          }
          this.options.record_delimiter.push(rds[i]);
          this.state.recordDelimiterMaxLength = rds[i].length;
          return rds[i].length;
        }
      return 0;
    },
    __error: function(msg) {
      const { encoding, raw, skip_records_with_error } = this.options;
      const err = typeof msg === "string" ? new Error(msg) : msg;
      if (skip_records_with_error) {
        this.state.recordHasError = true;
        if (this.options.on_skip !== undefined) {
          try {
            this.options.on_skip(err, raw ? this.state.rawBuffer.toString(encoding) : undefined);
          } catch (err) {
            return err;
          }
        }
        return;
      } else {
        return err;
      }
    },
    __infoDataSet: function() {
      return {
        ...this.info,
        columns: this.options.columns
      };
    },
    __infoRecord: function() {
      const { columns, raw, encoding } = this.options;
      return {
        ...this.__infoDataSet(),
        bytes_records: this.info.bytes,
        error: this.state.error,
        header: columns === true,
        index: this.state.record.length,
        raw: raw ? this.state.rawBuffer.toString(encoding) : undefined
      };
    },
    __infoField: function() {
      const { columns } = this.options;
      const isColumns = Array.isArray(columns);
      const bytes_records = this.info.bytes_records;
      return {
        ...this.__infoRecord(),
        bytes_records,
        column: isColumns === true ? columns.length > this.state.record.length ? columns[this.state.record.length].name : null : this.state.record.length,
        quoting: this.state.wasQuoting
      };
    }
  };
};
var init_api = __esm(() => {
  init_normalize_columns_array();
  init_init_state();
  init_normalize_options();
  init_CsvError();
  init_delimiter_discover();
  boms = {
    utf8: Buffer.from([239, 187, 191]),
    utf16le: Buffer.from([255, 254])
  };
});

// ../../node_modules/csv-parse/lib/sync.js
var parse = function(data, opts = {}) {
  if (typeof data === "string") {
    data = Buffer.from(data);
  }
  const records = opts && opts.objname ? Object.create(null) : [];
  const parser = transform(opts);
  const push = (record) => {
    if (parser.options.objname === undefined)
      records.push(record);
    else {
      records[record[0]] = record[1];
    }
  };
  const close = () => {};
  const error = parser.parse(data, true, push, close);
  if (error !== undefined)
    throw error;
  return records;
};
var init_sync2 = __esm(() => {
  init_api();
  init_normalize_options();
});

// src/cli/transfer/csv-records.ts
class CsvRecords {
  #delimiter;
  #open = [];
  #openBytes = 0;
  #filler;
  constructor(delimiter) {
    this.#delimiter = delimiter;
  }
  take(block) {
    const records = [];
    for (const line of block)
      this.#takeLine(line, records);
    return records;
  }
  end() {
    return this.#open.length === 0 ? [] : this.#refuseOpen(notClosed, refusedWithFirst);
  }
  #takeLine(line, records) {
    const inQuotes = this.#open.length > 0 || this.#filler !== undefined;
    const text = typeof line === "string" ? line : line.lossyText;
    const goesOn = text === undefined ? inQuotes : endsInQuotes(text, inQuotes, this.#delimiter);
    if (this.#filler !== undefined) {
      records.push({ text: this.#filler, lines: 1 });
      if (!goesOn)
        this.#filler = undefined;
    } else if (typeof line !== "string") {
      const number = this.#open.length + 1;
      const fault = number === 1 ? line : { fault: `line ${number} of this record: ${line.fault}` };
      this.#open.push("");
      records.push(...this.#refuseOpen(fault, ""));
      if (goesOn)
        this.#filler = "";
    } else if (this.#open.length === 0 && !goesOn) {
      records.push({ text: withoutReturn(line), lines: 1 });
    } else {
      this.#open.push(line);
      this.#openBytes += Buffer.byteLength(line) + 1;
      if (this.#openBytes > recordBytesMax) {
        records.push(...this.#refuseOpen(tooLong2, refusedWithFirst));
        if (goesOn)
          this.#filler = refusedWithFirst;
      } else if (!goesOn) {
        records.push({ text: withoutReturn(this.#open.join(`
`)), lines: this.#open.length });
        this.#clear();
      }
    }
  }
  #refuseOpen(fault, rest) {
    const records = this.#open.map((_, i) => ({ text: i === 0 ? fault : rest, lines: 1 }));
    this.#clear();
    return records;
  }
  #clear() {
    this.#open = [];
    this.#openBytes = 0;
  }
}
var endsInQuotes = (line, inQuotes, delimiter) => {
  let inside = inQuotes;
  for (let at = line.indexOf('"');at !== -1; at = line.indexOf('"', at + 1)) {
    if (!inside)
      inside = at === 0 || line[at - 1] === delimiter;
    else if (line[at + 1] === '"')
      at++;
    else
      inside = false;
  }
  return inside;
}, refusedWithFirst, tooLong2, notClosed, withoutReturn = (text) => text.endsWith("\r") ? text.slice(0, -1) : text;
var init_csv_records = __esm(() => {
  init_read_lines();
  refusedWithFirst = { fault: "" };
  tooLong2 = {
    fault: `the record that begins here is longer than ${recordBytesMax} bytes; is a quote not closed?`
  };
  notClosed = { fault: "a quote is opened in this record and not closed before the end of the file." };
});

// src/cli/transfer/csv.ts
class CsvConverter {
  #format;
  #columns;
  #line = 0;
  constructor(format) {
    this.#format = format;
  }
  convert(records) {
    const filled = records.filter(({ text }) => typeof text === "string" && text.trim() !== "");
    const rows = parseRows(filled.map(({ text }) => text), this.#format.delimiter);
    const lines = [];
    let next = 0;
    for (const record of records) {
      this.#line++;
      lines.push(this.#convertRecord(record.text, record === filled[next] ? rows[next++] : undefined));
      for (let i = 1;i < record.lines; i++)
        lines.push("");
      this.#line += record.lines - 1;
    }
    return lines;
  }
  get hasHeader() {
    return this.#columns !== undefined;
  }
  #convertRecord(text, row) {
    const fault = typeof text === "string" ? undefined : text;
    if (this.#columns !== undefined) {
      if (fault !== undefined)
        return fault;
      return row === undefined ? "" : toObject(row, this.#columns);
    }
    const problem = fault?.fault ?? (row !== undefined && !Array.isArray(row) ? row.fault : undefined);
    if (problem !== undefined)
      throw new OperatorError(`line ${this.#line}, which names the columns: ${problem}`);
    if (row !== undefined)
      this.#columns = readHeader(row, this.#format, this.#line);
    return "";
  }
}
var readCsv = (reader, format) => {
  let stopped = false;
  return {
    async* blocks() {
      const records = new CsvRecords(format.delimiter);
      const converter = new CsvConverter(format);
      let emptyLines = 0;
      for await (const block of reader.blocks()) {
        const lines = converter.convert(records.take(block));
        if (!converter.hasHeader)
          emptyLines += lines.length;
        else {
          for (;emptyLines > 0; emptyLines--)
            yield [""];
          yield lines;
        }
      }
      const last = converter.convert(records.end());
      if (converter.hasHeader)
        yield last;
      else if (!stopped)
        throw new OperatorError("the file is empty; its first line names the columns");
    },
    fraction: () => reader.fraction(),
    stop() {
      stopped = true;
      reader.stop();
    }
  };
}, parseRows = (texts, delimiter) => {
  if (texts.length === 0)
    return [];
  try {
    const rows = parse(texts.join(`
`), { delimiter, record_delimiter: `
`, relax_column_count: true });
    if (rows.length !== texts.length)
      throw new Error(`${texts.length} records of CSV gave ${rows.length} rows`);
    return rows;
  } catch (error) {
    if (texts.length === 1)
      return [{ fault: quoteFault(error) }];
    const half = texts.length >> 1;
    return [...parseRows(texts.slice(0, half), delimiter), ...parseRows(texts.slice(half), delimiter)];
  }
}, quoteFault = (error) => {
  if (!(error instanceof CsvError))
    throw error;
  if (error.code === "INVALID_OPENING_QUOTE") {
    return 'a cell that does not begin with a quote has one inside; quote the whole cell, and double the quote: "6"" pipe".';
  }
  if (error.code === "CSV_INVALID_CLOSING_QUOTE") {
    return 'text follows the closing quote of a cell; double a quote that belongs to the cell: "6"" pipe".';
  }
  return `the line is not CSV: ${error.message}.`;
}, toObject = (row, columns) => {
  if (!Array.isArray(row))
    return row;
  if (row.length !== columns.length) {
    const cells = `${row.length} cell${row.length === 1 ? "" : "s"}`;
    return { fault: `the line has ${cells}; the header names ${columns.length} columns.` };
  }
  let members = "";
  for (let i = 0;i < row.length; i++) {
    const cell = row[i];
    if (cell === "")
      continue;
    const { name, start, isNumber } = columns[i];
    const value = isNumber ? cell.trim() : JSON.stringify(cell);
    if (isNumber && !jsonNumber.test(value))
      return notNumber(name, cell);
    members += members === "" ? start + value : `,${start}${value}`;
  }
  return `{${members}}`;
}, jsonNumber, notNumber = (name, cell) => ({
  fault: `${shown(name)} is ${describeValue(cell)}; --numbers takes numbers as in JSON: 7, -0.5, 1e6. ` + "Leave the cell empty, or leave the column out of --numbers."
}), shown = (name) => name.length > 80 ? `${name.slice(0, 80)}\u2026` : name, columnsShownMax = 30, likelyDelimiter = (header) => {
  if (header.includes(";"))
    return "';'";
  if (header.includes("\t"))
    return "tab";
  return header.includes("|") ? "'|'" : undefined;
}, readHeader = (names, { numbers, named }, line) => {
  const positions = new Map;
  names.forEach((name, i) => {
    if (name.trim() === "")
      throw new OperatorError(`line ${line}: column ${i + 1} has no name; give it one`);
    const first = positions.get(name);
    if (first !== undefined) {
      const both = `columns ${first + 1} and ${i + 1}`;
      throw new OperatorError(`line ${line}: ${both} are both called ${describeValue(name)}; rename one of them`);
    }
    positions.set(name, i);
  });
  for (const [flag, columns] of named) {
    const missing = columns.find((name) => !positions.has(name));
    if (missing === undefined)
      continue;
    const some = names.slice(0, columnsShownMax).map(describeValue).join(", ");
    const more = names.length > columnsShownMax ? ", \u2026" : "";
    const delimiter = names.length === 1 ? likelyDelimiter(names[0]) : undefined;
    const tip = delimiter === undefined ? "" : `; if another character separates the cells, give --delimiter ${delimiter}`;
    throw new UsageError(`${flag}: there is no column ${describeValue(missing)}; the columns are ${some}${more}${tip}`);
  }
  return names.map((name) => ({ name, start: `${JSON.stringify(name)}:`, isNumber: numbers.includes(name) }));
};
var init_csv = __esm(() => {
  init_sync2();
  init_operator_error();
  init_arguments();
  init_csv_records();
  jsonNumber = /^-?(?:0|[1-9][0-9]*)(?:\.[0-9]+)?(?:[eE][+-]?[0-9]+)?$/;
});
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

// src/cli/run.ts
init_errors();
init_operator_error();
init_store_refused();
init_arguments();

// src/cli/commands/backup.ts
init_arguments();
import { resolve as resolve4 } from "path";

// src/cli/print.ts
init_printable();
var printLine = (line) => {
  process.stdout.write(`${printable(line)}
`);
};
var printNote = (line) => {
  process.stderr.write(`${printable(line)}
`);
};
var printJson = (value) => printLine(JSON.stringify(value));
var columnWidths = (rows) => rows.reduce((widest, row) => row.map((cell, i) => Math.max(widest[i] ?? 0, cell.length)), []);
var tableWidth = (rows) => columnWidths(rows).reduce((sum, width) => sum + width + 2, -2);
var printTable = (rows) => {
  const widths = columnWidths(rows);
  for (const row of rows)
    printLine(row.map((cell, i) => cell.padEnd(widths[i])).join("  ").trimEnd());
};

// src/core/text/shell-word.ts
var shellWord = (text) => /^[A-Za-z0-9_./:=@%+,-]+$/.test(text) ? text : `'${text.replaceAll("'", "'\\''")}'`;

// src/engines/open-engine.ts
init_settings();
import { resolve as resolve3 } from "path";

// src/engines/sqlite/settings.ts
var sqliteFlags = {
  "no-mmap": {
    type: "switch",
    help: "with --data: no memory map; slower, but a bad sector does not end the process"
  }
};
var readSqliteSettings = ({ isSet, testVariable }) => ({
  noMmap: isSet("no-mmap"),
  faults: testVariable("CUBBY_TEST_FAULTS")
});

// src/engines/open-engine.ts
var engineFlags = { ...postgresFlags, ...sqliteFlags };
var defaults2 = {
  count(flag) {
    const declared = engineFlags[flag];
    return declared.type === "count" ? declared.default : 0;
  },
  isSet: () => false
};
var readEngineSettings = ({
  testVariable,
  ...flags
}) => {
  const source = { ...defaults2, ...flags, testVariable };
  return { sqlite: readSqliteSettings(source), postgres: readPostgresSettings(source) };
};
var findStore = async (location, settings) => {
  const { data, store, storeGivenAs } = location;
  if (store === undefined) {
    await Promise.resolve().then(() => init_closed_store());
    return sqliteStore(resolve3(data), settings?.sqlite);
  }
  await Promise.resolve().then(() => init_closed_store2());
  return postgresStore(store, settings?.postgres, storeGivenAs);
};
var openEngine2 = async (location, options) => (await findStore(location)).open(options);

// src/process/test-environment.ts
init_operator_error();
var testVariable = (env, name) => {
  const value = env[name];
  if (value !== undefined && env.NODE_ENV !== "test") {
    throw new OperatorError(`${name} is for tests only: it needs NODE_ENV=test`);
  }
  return value;
};

// src/cli/target/store.ts
init_arguments();
var storeFlags = {
  data: { type: "string", value: "DIR", help: "the data directory of the embedded engine", default: "./cubby-data" },
  store: { type: "string", value: "URL", help: "another engine instead: postgres://user:password@host/db" }
};
var storeLocation = (args) => ({
  data: args.text("data"),
  store: args.isGiven("data") && !args.isGiven("store") ? undefined : args.text("store"),
  storeGivenAs: givenAs(args, "store")
});
var sameStoreFlags = (args) => {
  if (args.isGiven("store"))
    return `--store ${shellWord(withoutPassword(args.text("store")))}`;
  return args.isGiven("data") ? `--data ${shellWord(args.text("data"))}` : "";
};
var withoutPassword = (store) => {
  const url = URL.parse(store);
  if (url === null)
    return "URL";
  if (url.password !== "")
    url.password = "PASSWORD";
  if (url.searchParams.has("password"))
    url.searchParams.set("password", "PASSWORD");
  return url.href;
};
var findTargetStore = (args) => {
  const settings = readEngineSettings({ testVariable: (name) => testVariable(process.env, name) });
  return findStore(storeLocation(args), settings);
};
var withStore = async (args, { mustExist }, use) => {
  const store = await findTargetStore(args);
  const engine = await store.open({ role: "guest", mustExist });
  try {
    return await use(engine);
  } finally {
    await engine.close();
  }
};

// src/cli/transfer/progress.ts
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

// src/cli/transfer/write-lines.ts
init_operator_error();
init_printable();
init_sync();
import { once } from "events";
import { createWriteStream, fchmodSync, lstatSync, openSync as openSync6, rmSync as rmSync4, statSync as statSync4 } from "fs";
import { pipeline } from "stream/promises";
import { createGzip } from "zlib";
var bufferCharacters = 128 * 1024;
var buffered = (put) => {
  let texts = "";
  const flush = async () => {
    const full = texts;
    texts = "";
    if (full !== "")
      await put(full);
  };
  const write = async (text) => {
    texts += text;
    if (texts.length >= bufferCharacters)
      await flush();
  };
  return { write, flush };
};
var put = (content) => new Promise((resolve, reject) => {
  process.stdout.write(content, (error) => {
    if (error === null || error === undefined)
      resolve();
    else if (error.code !== "EPIPE")
      reject(error);
    else
      reject(new OperatorError("the reader of the output has closed it before the end"));
  });
});
var noListenerNeeded = () => {};
var openStdout = () => {
  process.stdout.off("error", noListenerNeeded).on("error", noListenerNeeded);
};
var writeToStdout = () => {
  openStdout();
  const { write, flush } = buffered((text) => put(process.stdout.isTTY ? printableJson(text) : text));
  return { write, end: flush, abandon: () => {} };
};
var openByteOutput = () => {
  openStdout();
  return put;
};
var writeTextToStdout = async (text) => {
  const out = writeToStdout();
  await out.write(`${text}
`);
  await out.end();
};
var cannotWrite2 = (file, error) => new OperatorError(`${file} cannot be written: ${error.message}`);
var refuseExisting = (file) => {
  const kind = kindOf(file);
  if (kind !== "file" && !(kind === "nothing" && isLink(file)))
    return;
  throw new OperatorError(`${file} exists and is not overwritten; --force replaces it`);
};
var writeToFile = (file, { replaces }) => {
  const special = kindOf(file) === "special";
  if (!replaces)
    refuseExisting(file);
  const path = special ? file : `${file}.partial`;
  const out = special ? createWriteStream(path) : createWriteStream(path, { fd: openPrivate(path, file) });
  const gzip = file.endsWith(".gz") ? createGzip() : undefined;
  const entry = gzip ?? out;
  const done = gzip === undefined ? once(out, "close") : pipeline(gzip, out);
  let failure;
  done.catch((error) => {
    failure = error;
  });
  const { write, flush } = buffered(async (text) => {
    if (failure !== undefined)
      throw cannotWrite2(file, failure);
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
        throw cannotWrite2(file, failure);
      if (special)
        return;
      if (!replaces)
        refuseExisting(file);
      try {
        moveIntoPlace(path, file);
      } catch (error) {
        throw cannotWrite2(file, error);
      }
    },
    abandon() {
      out.destroy();
      if (!special)
        rmSync4(path, { force: true });
    }
  };
};
var openPrivate = (path, file) => {
  try {
    const descriptor = openSync6(path, "w", 384);
    fchmodSync(descriptor, 384);
    return descriptor;
  } catch (error) {
    throw cannotWrite2(file, error);
  }
};
var isLink = (file) => lstatSync(file, { throwIfNoEntry: false })?.isSymbolicLink() === true;
var kindOf = (file) => {
  try {
    const stat = statSync4(file, { throwIfNoEntry: false });
    if (stat === undefined)
      return "nothing";
    return stat.isFile() ? "file" : "special";
  } catch (error) {
    throw cannotWrite2(file, error);
  }
};

// src/cli/commands/backup.ts
var backupCreateCommand = {
  name: "backup create",
  positionals: ["FILE"],
  summary: "copy the store into one file, also while the server runs",
  details: `The file holds the whole store, all organizations, as it was at one moment. It is checked and synced before
it gets its name. An existing file is not overwritten. Only hashes of the API keys are in it.
- as FILE is standard output: cubby backup create - | gzip > FILE. The copy is checked before the first byte
is written; the summary goes to standard error.`,
  flags: { ...storeFlags, json: jsonFlag },
  async run(args) {
    if (args.positionals[0] === "-")
      return writeToOutput(args);
    const file = resolve4(args.positionals[0]);
    const store = await findTargetStore(args);
    const contents = await store.createBackup(file);
    printLine(report(args, { file, ...contents }, `wrote ${file}`));
    return 0;
  }
};
var writeToOutput = async (args) => {
  if (process.stdout.isTTY) {
    throw new UsageError("standard output is a terminal; write to a pipe: cubby backup create - | gzip > FILE");
  }
  const store = await findTargetStore(args);
  const contents = await store.streamBackup(openByteOutput());
  printNote(report(args, { file: "-", ...contents }, "wrote to standard output"));
  return 0;
};
var backupRestoreCommand = {
  name: "backup restore",
  positionals: ["FILE"],
  summary: "create a data directory from a backup",
  details: `The directory must hold no store: nothing is overwritten. The copy is checked before it becomes the store.
- as FILE is standard input: gunzip -c FILE | cubby backup restore -. A backup that was cut is rejected.
API keys are as they were at the backup: revoke again what was revoked since.`,
  flags: { ...storeFlags, json: jsonFlag },
  async run(args) {
    const [file] = args.positionals;
    if (file === "-" && process.stdin.isTTY) {
      throw new UsageError("standard input is a terminal; read from a pipe: gunzip -c FILE | cubby backup restore -");
    }
    const backup = file === "-" ? { name: "standard input", bytes: process.stdin } : resolve4(file);
    const store = await findTargetStore(args);
    const contents = await store.restoreBackup(backup);
    const data = store.describe();
    printLine(report(args, { data, ...contents }, `restored ${data}`));
    return 0;
  }
};
var report = (args, facts, what) => {
  if (args.flag("json"))
    return JSON.stringify(facts);
  const { organizations, tables, records, bytes } = facts;
  const counts = [showCount(organizations, "organization"), showCount(tables, "table"), showCount(records)].join(", ");
  return `${what}: ${counts}, ${(bytes / 1e6).toFixed(1)} MB, verified`;
};

// src/cli/commands/copy.ts
init_operator_error();

// src/operations/transfer/copy-store.ts
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
var copyStore = async (from, to, onProgress) => {
  await to.transfer.load({ cursorKey: await from.cursorKey() });
  await to.transfer.load({ organizations: await from.organizations() });
  for await (const apiKeys of inChunks(from.apiKeys()))
    await to.transfer.load({ apiKeys });
  for await (const tables of inChunks(from.tables()))
    await to.transfer.load({ tables });
  let copied = 0;
  for await (const table of from.tables()) {
    for await (const records of from.records(table.id, await to.transfer.lastRecordId(table.id))) {
      await to.transfer.load({ records });
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
var shownKey2 = ({ secret, acceptsPlain }) => `${Buffer.from(secret).toString("hex")} ${acceptsPlain}`;
async function* compareStores(ours, theirs) {
  if (shownKey2(await ours.cursorKey()) !== shownKey2(await theirs.cursorKey()))
    yield "the cursor keys differ";
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

// src/cli/commands/copy.ts
init_arguments();
var parseLocation = (args, flag) => {
  const text = args.text(flag);
  if (text === undefined)
    throw new UsageError(`--${flag} is missing; it takes a data directory or a postgres:// URL`);
  return /^[a-z]+:\/\//i.test(text) ? { data: "", store: text, storeGivenAs: givenAs(args, flag) } : { data: text, store: undefined };
};
var refuseFilled = async (engine, store) => {
  if ((await engine.organizations.list()).length === 0)
    return;
  throw new OperatorError(`the store at ${store.describe()} is not empty; --resume continues an interrupted copy`);
};
var copyCommand = {
  name: "copy",
  summary: "copy a whole store into another one; each may be embedded or PostgreSQL",
  details: `Copies organizations, API keys, tables (deleted ones too) and records with their versions and times, from one
snapshot of the source, and then compares both stores. API keys and cursors keep working. The copy does not
contain what is written to the source after it began: stop the source's servers first.`,
  flags: {
    from: { type: "string", value: "STORE", help: "a data directory or postgres://user:password@host/db" },
    to: { type: "string", value: "STORE", help: "the same; this store must be empty" },
    resume: { type: "boolean", help: "continue an interrupted copy; the store may hold part of it" },
    json: jsonFlag
  },
  async run(args) {
    const [from, to] = [parseLocation(args, "from"), parseLocation(args, "to")];
    const [sourceStore, targetStore] = [await findStore(from), await findStore(to)];
    const progress = new Progress;
    const source = await sourceStore.open({ role: "guest", mustExist: true });
    try {
      const target = await targetStore.open({ role: "owner" });
      try {
        if (!args.flag("resume"))
          await refuseFilled(target, targetStore);
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
  const dump = await source.transfer.openDump();
  try {
    let all = 0;
    for await (const table of dump.tables())
      all += await dump.countRecords(table.id);
    progress.begin();
    const records = await copyStore(dump, target, (copied) => progress.show(copied, () => copied / Math.max(1, all)));
    progress.clear();
    const copiedMs = progress.elapsedMs;
    const copy = await target.transfer.openDump();
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

// src/cli/commands/db.ts
init_limits();

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
var refuse4 = (reason) => {
  throw new CubbyError("invalid_cursor", `cursor ${reason}`, {
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
var decode2 = (seal, cursor) => {
  if (typeof cursor !== "string")
    return refuse4(`is ${describeValue(cursor)}; it takes a string or null.`);
  if (cursor.length > cursorCharactersMax || !/^[A-Za-z0-9_-]+$/.test(cursor))
    return refuse4("cannot be read.");
  const bytes = Buffer.from(cursor, "base64url");
  const parts = bytes[0] === sealedVersion ? readSealed(seal, cursor, bytes) : readPlain(seal, bytes);
  return parts ?? refuse4("cannot be read.");
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
  const [found, range, id] = decode2(seal, cursor);
  if (found !== fingerprint) {
    return refuse4("belongs to another query: table, hash, index, range and direction must be those it came with.");
  }
  const rangeFits = scan.index === "t" ? Number.isSafeInteger(range) : typeof range === "string" && range.isWellFormed();
  if (!rangeFits || !Number.isSafeInteger(id) || id < 0)
    return refuse4("cannot be read.");
  return { range, id };
};
var isName2 = (value) => typeof value === "string" && /^[a-z0-9_-]{1,64}$/.test(value);
var encodeListCursor = (seal, listing, place) => encode(seal, [listing, ...place]);
var decodeListCursor = (seal, cursor, listing, types) => {
  const [found, ...place] = decode2(seal, cursor);
  if (found !== listing)
    return refuse4("belongs to another listing.");
  const fits = place.length === types.length && place.every((part, i) => types[i] === "number" ? Number.isSafeInteger(part) : isName2(part));
  return fits ? place : refuse4("cannot be read.");
};

// src/core/members.ts
init_errors();
var parseObject = (value, field) => {
  if (typeof value === "object" && value !== null && !Array.isArray(value))
    return value;
  throw new CubbyError("invalid_request", `${field ?? "The body"} is ${describeValue(value)}; it takes a JSON object.`, {
    field
  });
};
var refuseUnknownMembers = (members, known, prefix = "") => {
  for (const name in members) {
    if (known.includes(name))
      continue;
    const field = `${prefix}${name.length > 80 ? `${name.slice(0, 80)}\u2026` : name}`.toWellFormed();
    const meant = known.find((candidate) => candidate.toLowerCase() === name.toLowerCase().replaceAll("_", ""));
    throw new CubbyError("invalid_request", `${field} is not a field of this request.`, {
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
    throw new CubbyError("invalid_request", `limit is ${describeValue(value)}; it takes an integer of at least 1.`, {
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
  throw new CubbyError("invalid_request", `${field} is ${describeValue(value)}; it takes true or false.`, { field });
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

// src/operations/listing.ts
init_errors();
init_limits();
var parseListing = ({ limit, cursor }) => {
  if (cursor !== undefined && typeof cursor !== "string") {
    throw new CubbyError("invalid_cursor", `cursor is ${describeValue(cursor)}; it takes a string.`, {
      field: "cursor",
      hint: "Leave it out for the first page."
    });
  }
  return { limit: parseLimit(limit, pageRowsDefault, pageRowsMax), cursor };
};
var pagesNote = 'The last page has `"cursor": null`; otherwise send `cursor` back to get the next page.';

// src/operations/operation.ts
var defineOperation = (operation) => operation;

// src/operations/tables/list-databases.ts
var listDatabases2 = async (access, { limit, cursor }) => {
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
  run: listDatabases2,
  present: (page) => JSON.stringify(page)
});

// src/cli/command.ts
var summaryOf = ({ summary }) => summary[0].toLowerCase() + summary.slice(1);

// src/cli/target/remote.ts
init_errors();
init_operator_error();

// src/http/hint-text.ts
init_hint();

// src/http/routes/api-keys.ts
init_limits();

// src/operations/api-keys/create-api-key.ts
init_api_key();

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
    return new CubbyError("table_not_found", `There is no table ${table} in database ${db}.`, {
      hint: ["Create it: ", call("createTable", { db, table })]
    });
  }
  const until = new Date(deleted.deletedAtMs + recoveryMs).toISOString();
  return new CubbyError("table_not_found", `The table ${table} in database ${db} was deleted.`, {
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
    if (error instanceof CubbyError && error.code === "table_not_found")
      throw await tableNotFound(access, address, nowMs);
    throw error;
  }
};

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
  throw new CubbyError("key_not_found", "The organization has no API key with that id.", {
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
    throw new CubbyError("invalid_request", `${field} is ${describeValue(value)}; it takes a JSON object.`, {
      field,
      hint: value === undefined ? 'Put the record under "data".' : 'Wrap it: { "value": \u2026 }.'
    });
  }
  const data = text.slice(span.start, span.end);
  const bytes = Buffer.byteLength(data);
  if (bytes > dataBytesMax) {
    throw new CubbyError("record_too_large", `${field} has ${bytes} bytes of JSON; it takes at most ${dataBytesMax}.`, {
      field,
      hint: "Split the record over several range keys."
    });
  }
  if (span.depth > dataDepthMax) {
    throw new CubbyError("invalid_request", `${field} is ${span.depth} levels deep; it takes at most ${dataDepthMax}.`, {
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
  throw new CubbyError("invalid_ttl", `${field} is ${describeValue(value)}; it takes epoch seconds, an integer from 0 to ${ttlSecondsMax}.`, {
    field,
    hint: milliseconds ? `It looks like milliseconds; give seconds: ${Math.floor(value / 1000)}.` : "Leave ttl out for a record that does not expire."
  });
};
var durationSecondsMax = 10 * 365 * 86400;
var refuseLongPast = (ttlSeconds, field, now) => {
  if (now - ttlSeconds <= ttlPastSecondsMax)
    return;
  const hint = ttlSeconds === 0 ? `Leave ttl out for a record that does not expire; a time is given in epoch seconds, now ${now}.` : ttlSeconds < durationSecondsMax ? `${ttlSeconds} looks like a duration; for ${ttlSeconds} seconds from now give ${now + ttlSeconds}.` : `It is ${new Date(ttlSeconds * 1000).toISOString()}; a day from now is ${now + 86400}.`;
  throw new CubbyError("invalid_ttl", `${field} is ${ttlSeconds}, more than a day in the past; it takes the epoch second at which the record expires.`, { field, hint });
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
var refuse5 = (value, field, takes) => {
  throw new CubbyError("invalid_request", `${field} is ${describeValue(value)}; it takes ${takes}.`, {
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
  return refuse5(value, field, "an integer or null");
};
var parseCondition = (value) => value === "*" ? "exists" : parseIfUpdatedAt(value, "ifUpdatedAt");
var preconditionFailed = (current, field) => current === undefined ? new CubbyError("precondition_failed", "The record does not exist; nothing was changed.", {
  field,
  hint: "Write without the condition, or with one that holds for an absent record, to create it."
}) : new CubbyError("precondition_failed", `The record is at version ${current}; nothing was changed.`, {
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
      throw new CubbyError("batch_duplicate_keys", `${name}[${position}] names the same record as ${name}[${earlier}].`, { field: `${name}[${position}]`, hint });
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
  throw new CubbyError("invalid_request", `${prefix}op is ${describeValue(members.op)}; it takes "put" or "delete".`, {
    field: `${prefix}op`
  });
};
var refuseOnDelete = (members, prefix) => {
  for (const name of ["data", "ttl"]) {
    if (!Object.hasOwn(members, name))
      continue;
    throw new CubbyError("invalid_request", `${prefix}${name} is not allowed in a delete.`, {
      field: `${prefix}${name}`,
      hint: `Leave ${name} out, or make it a put.`
    });
  }
  refuseUnknownMembers(members, ["op", "hashKey", "rangeKey", "ifUpdatedAt"], prefix);
};
var readBatch = (text) => readListBody(text, "operations", batchOperationsMax);
var parseOperations = (text, operations, list, nowMs) => {
  if (!Array.isArray(operations) || list.count === 0) {
    throw new CubbyError("invalid_request", `operations is ${Array.isArray(operations) ? "empty" : describeValue(operations)}; it takes 1 to ${batchOperationsMax} operations.`, { field: "operations" });
  }
  if (list.count > batchOperationsMax) {
    throw new CubbyError("batch_too_large", `operations has ${list.count} operations; a batch takes at most ${batchOperationsMax}.`, { field: "operations", hint: `Send them in batches of ${batchOperationsMax}; each is atomic by itself.` });
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
    throw error instanceof CubbyError ? error.within(`operations[${position}]`) : error;
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
    throw new CubbyError("invalid_request", `${name} is ${describeValue(value)}; it takes an object.`, {
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
    throw new CubbyError("invalid_request", `keys is ${Array.isArray(keys) ? "empty" : describeValue(keys)}; it takes 1 to ${findKeysMax} record keys.`, { field: "keys", hint: 'Write it as [{ "hashKey": \u2026 }, { "hashKey": \u2026, "rangeKey": \u2026 }].' });
  }
  if (count > findKeysMax) {
    throw new CubbyError("batch_too_large", `keys has ${count} keys; a find takes at most ${findKeysMax}.`, {
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
var findRecords2 = async (access, { db, table: name, keys }, nowMs) => {
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
  run: findRecords2,
  present: presentFound
});

// src/operations/records/get-record.ts
init_errors();
init_record_json();
init_record_key();
var findRecord = (access, input, nowMs) => andThen(requireTable(access, input, nowMs), (table) => access.engine.records.get(table, input, nowMs, access.apiKey.seq));
var recordNotFound = ({ rangeKey }) => new CubbyError("record_not_found", "There is no record with that key.", {
  hint: rangeKey === noRangeKey ? ["If it has a range key, ", { give: "rangeKey" }, "."] : undefined
});
var getRecord2 = (access, input, nowMs) => andThen(findRecord(access, input, nowMs), (record) => {
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
  run: getRecord2,
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
var refuse6 = (field, message, hint) => {
  throw new CubbyError("invalid_range", `${field} ${message}`, { field, hint });
};
var parseOperand = (value, over, field) => {
  if (over === "primary") {
    if (typeof value !== "string")
      return refuse6(field, `is ${describeValue(value)}; range keys are strings.`);
  } else if (over === "t") {
    const instant = typeof value === "string" ? coerceIndexValue(value) : value;
    if (typeof instant !== "number" || !Number.isFinite(instant)) {
      return refuse6(field, `is ${describeValue(value)}; t takes epoch milliseconds or an ISO-8601 date-time.`, 'Write it as 1767225600000 or "2026-01-01T00:00:00Z".');
    }
    return instant;
  }
  const fault = indexValueFault(value);
  if (fault !== undefined) {
    return refuse6(field, `is ${fault}; it takes ${over === "primary" ? "a string" : "a string, number or boolean"}.`);
  }
  return over === "primary" ? value : coerceIndexValue(value);
};
var parsePrefix = (value, over, field) => {
  if (over === "t")
    return refuse6(field, "is not allowed for t, which holds numbers.", "Use between, gte or lt.");
  if (typeof value !== "string")
    return refuse6(field, `is ${describeValue(value)}; beginsWith takes a string.`);
  const fault = indexValueFault(value);
  return fault === undefined ? value : refuse6(field, `is ${fault}.`);
};
var compareOperands = (a, b, over) => over === "primary" ? Buffer.compare(utf8Bytes(a), utf8Bytes(b)) : Buffer.compare(utf8Bytes(encodeIndexValue(a)), utf8Bytes(encodeIndexValue(b)));
var refuseBounds = (field, low, high, over, hint) => {
  if (typeof low !== typeof high) {
    refuse6(field, `has a ${typeof low} and a ${typeof high}; both bounds must have the same type.`);
  }
  if (compareOperands(low, high, over) > 0)
    refuse6(field, "has its low bound above its high one.", hint);
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
    return refuse6("range", `${found}; the operators are ${rangeOperators.join(", ")}.`);
  }
  if (names.length === 1)
    return names;
  const [lower, upper] = [names.find(isLower), names.find(isUpper)];
  if (names.length === 2 && lower !== undefined && upper !== undefined)
    return [lower, upper];
  const found = names.length === 0 ? "has no operator" : `has ${names.join(" and ")}`;
  return refuse6("range", `${found}; ${operatorsRule}.`, operatorsHint(names));
};
var parseRange = (value, over) => {
  if (value === undefined)
    return;
  if (typeof value !== "object" || value === null || Array.isArray(value)) {
    return refuse6("range", `is ${describeValue(value)}; it takes an object with one or two operators.`, 'For example { "gte": 10, "lt": 20 }.');
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
    return refuse6(field, `is ${describeValue(operand)}; it takes [low, high].`);
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
  throw new CubbyError("invalid_request", `index is ${describeValue(value)}; it takes "t" or one of "i1" to "i5".`, {
    field: "index",
    hint: "Leave index out to query by primary key."
  });
};
var parseSelection = (value) => {
  if (value === undefined)
    return "data";
  if (selections.includes(value))
    return value;
  throw new CubbyError("invalid_request", `select is ${describeValue(value)}; it takes "data", "keys" or "count".`, {
    field: "select",
    hint: "Leave select out to get whole records."
  });
};
var parseQueryLimit = (value, select) => select === "count" ? parseLimit(value, countRowsMax, countRowsMax) : parseLimit(value, pageRowsDefault, pageRowsMax);
var parseQuery = (members) => {
  refuseUnknownMembers(members, queryFields);
  const index = parseIndexName(members.index);
  if (index === "t" && members.hash !== undefined) {
    throw new CubbyError("invalid_request", "hash is not a field of a query by t, which covers the whole table.", {
      field: "hash",
      hint: "Leave hash out, or query by primary key or a declared index."
    });
  }
  if (members.ascending !== undefined && typeof members.ascending !== "boolean") {
    throw new CubbyError("invalid_request", `ascending is ${describeValue(members.ascending)}; it takes true or false.`, {
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
var missingHash = () => new CubbyError("invalid_key", "hash is missing; it takes a string.", {
  field: "hash",
  hint: 'Give hash, or index: "t" for the newest records of the table.'
});
var declaredIndexScan = (query, slot, indices) => {
  const declaration = indices[slot];
  if (declaration === undefined) {
    const declared = Object.entries(indices).map(([name, { hashField }]) => `${name} (${hashField})`);
    throw new CubbyError("index_not_declared", `The table declares no index ${slot}.`, {
      field: "index",
      hint: declared.length === 0 ? "It declares none; indices are declared when a table is created." : `Declared: ${declared.join(", ")}.`
    });
  }
  const fault = indexValueFault(query.hash);
  if (fault !== undefined) {
    throw new CubbyError("invalid_index_value", `hash is ${fault}; index ${slot} takes a string, number or boolean.`, {
      field: "hash",
      hint: `Give the value of ${declaration.hashField} to look for.`
    });
  }
  if (query.range !== undefined && declaration.rangeField === undefined) {
    throw new CubbyError("invalid_range", `range is not allowed: index ${slot} was declared without a rangeField.`, {
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
var readPage2 = ({ engine, apiKey }, table, { select, limit }, page, nowMs) => {
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
  const { select, records, count, next } = await readPage2(access, table, query, page, nowMs);
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
    throw new CubbyError("table_exists", `The table ${name} exists with other indices, and indices are immutable.`, {
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

// src/operations/tables/list-tables.ts
init_names();
var listTables2 = async (access, input, nowMs) => {
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
  run: listTables2,
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
  throw new CubbyError("invalid_request", `deletedAt is ${describeValue(deletedAt)}; it takes epoch milliseconds.`, {
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
      throw new CubbyError("table_exists", `An active table has the name ${table}.`, {
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
      throw new CubbyError("table_not_found", `No recoverable table ${table} was deleted at ${deletedAtMs}.`, {
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

// src/http/hint-text.ts
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

// src/cli/target/remote.ts
init_arguments();
var defaultUrl = "http://127.0.0.1:4600";
var remoteFlags = {
  url: { type: "string", value: "URL", help: "the server's address", default: defaultUrl },
  key: { type: "string", value: "APIKEY", help: "an API key; prefer CUBBY_KEY: other users can see flags" }
};
var attemptMsMax = 60000;
var delayMsMax = 5000;
var openRemote = (args, attemptsMax = 4) => {
  const url = parseUrl2(args);
  const key = args.text("key");
  if (key === undefined)
    throw new UsageError("the API key is missing: set CUBBY_KEY or give --key");
  if (!/^[\x21-\x7e]+$/.test(key)) {
    throw new UsageError(`${givenAs(args, "key")} has a space, a line break or another character that no API key has`);
  }
  return { url, maskedKey: maskKey(key), request: (call) => request(url, key, call, attemptsMax) };
};
var parseUrl2 = (args) => {
  const text = args.text("url") ?? defaultUrl;
  const address = URL.parse(text)?.href ?? "";
  const wrong = `${givenAs(args, "url")} is "${text.replace(/[^"/]*@/, "\u2026")}"; it takes the address of a server, such as ${defaultUrl}`;
  if (!/^https?:\/\/[^@?#]+$/.test(address))
    throw new UsageError(wrong);
  if (/\/v1\/*$/.test(address))
    throw new UsageError(`${wrong}, without /v1`);
  return address.replace(/\/+$/, "");
};
var maskKey = (key) => `${/^svc_(live|pub)_/.exec(key)?.[0] ?? ""}****${key.slice(-4)}`;
var request = async (url, key, call, attemptsMax) => {
  for (let attempt = 1;; attempt++) {
    const answer = await send(url, key, call);
    if (typeof answer === "string")
      return answer;
    const { error, unanswered, retryAfterMs } = answer;
    const again = unanswered ? call.repeatable : error instanceof CubbyError && error.code === "unavailable";
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
  if (response.ok && text.startsWith("{"))
    return text;
  const retryAfterMs = Math.min(delayMsMax, (Number(response.headers.get("retry-after")) || 0) * 1000);
  const expected = response.ok ? "with a JSON object" : "with a Cubby error";
  const error = parseErrorBody(text);
  if (error !== undefined)
    return { error, unanswered: false, retryAfterMs };
  return {
    error: new OperatorError(`${url} answered ${response.status}, but not ${expected}; is it a Cubby server?`),
    unanswered: response.status >= 500,
    retryAfterMs
  };
};
var noAnswer = (url, { repeatable }, error) => {
  const refused = /^(ConnectionRefused|ECONNREFUSED)$/.test(String(error.code));
  const reason = refused ? "nothing listens there" : error.message;
  const unknown = repeatable ? "" : "; the change may or may not have been applied";
  return new OperatorError(`no answer from ${url}: ${reason.replace(/\.$/, "")}${unknown}`);
};
var parseErrorBody = (text) => {
  try {
    const { code, message, field, hint } = JSON.parse(text).error;
    if (typeof message !== "string")
      return;
    return new CubbyError(code, message, { field, hint: hint && readHttpHint(hint) });
  } catch {
    return;
  }
};

// src/cli/commands/db.ts
var dbListCommand = {
  name: "db list",
  summary: summaryOf(listDatabasesOperation),
  details: `The databases that the API key may use and that have a table, by name, one per line. A database needs no
command of its own: it begins with its first table.`,
  flags: { ...remoteFlags },
  async run(args) {
    const remote = openRemote(args);
    for (let after = "";; ) {
      const path = `/v1?limit=${pageRowsMax}${after}`;
      const page = JSON.parse(await remote.request({ method: "GET", path, repeatable: true }));
      for (const name of page.databases)
        printLine(name);
      if (page.cursor === null)
        return 0;
      after = `&cursor=${encodeURIComponent(page.cursor)}`;
    }
  }
};

// src/cli/commands/delete.ts
init_errors();
init_record_key();

// src/cli/target/address.ts
init_names();
init_record_key();
init_arguments();
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
  return name === undefined ? undefined : checkName(name, givenAs(args, flag));
};
var checkName = (name, what) => orUsageError(() => parseName(name, what));
var ifMatchFlag = {
  type: "string",
  value: "VERSION",
  help: "only if its updatedAt is this; *: only if the record exists"
};
var parseIfMatch = (args) => {
  const text = args.text("if-match");
  if (text === undefined || text === "*" || /^[0-9]+$/.test(text))
    return text;
  throw new UsageError(`--if-match is "${text}"; it takes a record's updatedAt, or *`);
};
var ifMatchHeader = (version) => ({
  "if-match": version === "*" ? "*" : `"${version}"`
});
var requireRecordKey = ({ positionals: [hashKey, rangeKey] }) => orUsageError(() => parseRecordKey(hashKey, rangeKey));

// src/cli/transfer/pages.ts
init_json_span();
var splitPage = (text) => {
  const items = [];
  let count = 0;
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
    if (name === "count")
      count = Number(text.slice(start, end));
    if (name === "cursor")
      cursor = JSON.parse(text.slice(start, end));
    return end;
  });
  return { text, items, count, cursor };
};
var queryPage = async (remote, db, table, query) => {
  const members = Object.entries(query).map(([name, text]) => `"${name}":${text}`);
  return splitPage(await remote.request({
    method: "POST",
    path: `/v1/${db}/${table}/query`,
    body: `{${members.join(",")}}`,
    repeatable: true
  }));
};
async function* queryPages(remote, db, table, query) {
  for (let more = query;; ) {
    const page = await queryPage(remote, db, table, more);
    yield page;
    if (page.cursor === null)
      return;
    more = { ...more, cursor: JSON.stringify(page.cursor) };
  }
}
var queryKey = async (remote, db, table, { hashKey, rangeKey }) => {
  const query = { hash: JSON.stringify(hashKey), range: `{"eq":${JSON.stringify(rangeKey)}}` };
  for await (const { items } of queryPages(remote, db, table, query))
    if (items.length > 0)
      return items[0];
  return;
};
var memberTexts = (text) => {
  const texts = new Map;
  walkObject(text, 0, "", (name, start) => {
    const { end } = valueSpan(text, start);
    texts.set(name, text.slice(start, end));
    return end;
  });
  return texts;
};

// src/cli/commands/delete.ts
var deleteCommand = {
  name: "delete",
  positionals: ["HASHKEY", "[RANGEKEY]"],
  summary: summaryOf(deleteRecordOperation),
  details: `Prints {"deleted":true}, or {"deleted":false} if there was no such record; the exit code is 0 in both cases.`,
  flags: { db: dbFlag, table: tableFlag, "if-match": ifMatchFlag, ...remoteFlags },
  async run(args) {
    const address = { db: requireName(args, "db"), table: requireName(args, "table") };
    const key = requireRecordKey(args);
    const ifMatch = parseIfMatch(args);
    const remote = openRemote(args);
    const text = hasPathUnsafe.test(key.hashKey + key.rangeKey) ? await deleteByBatch(remote, address, key, ifMatch) : await deleteByPath(remote, address, key, ifMatch);
    await writeTextToStdout(text);
    return 0;
  }
};
var hasPathUnsafe = /[/\\\0]/;
var deleteByPath = (remote, { db, table }, { hashKey, rangeKey }, ifMatch) => {
  const parts = rangeKey === noRangeKey ? [hashKey] : [hashKey, rangeKey];
  const headers = ifMatch === undefined ? undefined : ifMatchHeader(ifMatch);
  const record = parts.map(encodeURIComponent).join("/");
  return remote.request({ method: "DELETE", path: `/v1/${db}/${table}/${record}`, headers, repeatable: false });
};
var deleteByBatch = async (remote, address, key, ifMatch) => {
  const wanted = ifMatch === "*" ? undefined : ifMatch;
  for (;; ) {
    const found = wanted ?? await versionOf2(remote, address, key);
    if (found === undefined) {
      if (ifMatch === "*")
        throw preconditionFailed(undefined);
      return '{"deleted":false}';
    }
    const { hashKey, rangeKey } = key;
    const operation = `{"op":"delete",${JSON.stringify({ hashKey, rangeKey }).slice(1, -1)},"ifUpdatedAt":${found}}`;
    const body = `{"operations":[${operation}]}`;
    try {
      await remote.request({
        method: "POST",
        path: `/v1/${address.db}/${address.table}/batch`,
        body,
        repeatable: false
      });
      return '{"deleted":true}';
    } catch (error) {
      if (wanted !== undefined || !(error instanceof CubbyError && error.code === "precondition_failed"))
        throw error;
    }
  }
};
var versionOf2 = async (remote, { db, table }, key) => {
  const record = await queryKey(remote, db, table, key);
  return record === undefined ? undefined : memberTexts(record).get("updatedAt");
};

// src/cli/commands/export.ts
init_operator_error();
init_arguments();

// src/cli/target/target.ts
init_arguments();
var targetFlags = {
  url: { type: "string", value: "URL", help: `the server's address (${defaultUrl})` },
  key: { type: "string", value: "APIKEY", help: "an API key; prefer CUBBY_KEY: other users can see flags" },
  data: { type: "string", value: "DIR", help: "use the store in this data directory, not a server" },
  store: { type: "string", value: "URL", help: "use the store in this database: postgres://user:password@host/db" },
  org: { type: "string", value: "NAME", help: "with --data or --store: the organization (default)" }
};
var chooseTarget = (args, attemptsMax) => {
  const serverFlags = ["url", "key"];
  const storeFlags = ["data", "store"];
  const given = [...serverFlags, ...storeFlags].filter((flag) => args.isGiven(flag));
  const known = given.length > 0 ? given : [...serverFlags, ...storeFlags].filter((flag) => args.text(flag));
  const server = known.find((flag) => serverFlags.includes(flag));
  const store = known.find((flag) => storeFlags.includes(flag));
  if (server !== undefined && store !== undefined) {
    const names = given.length > 0 ? [`--${server}`, `--${store}`] : [environmentName(server), environmentName(store)];
    throw new UsageError(`${names[0]} names a server and ${names[1]} a store: give only one of them`);
  }
  if (store !== undefined) {
    const location = { data: args.text("data") ?? "", store: args.text("store") };
    location.storeGivenAs = givenAs(args, "store");
    if (given.length > 0 && !args.isGiven("store"))
      location.store = undefined;
    return { kind: "store", location, org: args.text("org") ?? "default" };
  }
  if (args.isGiven("org")) {
    throw new UsageError("--org needs --data or --store; over HTTP the API key names the organization");
  }
  if (args.text("key") === undefined) {
    throw new UsageError("set CUBBY_KEY or give --key for a server, or --data DIR for the store itself");
  }
  return { kind: "server", remote: openRemote(args, attemptsMax) };
};

// src/cli/transfer/export-source.ts
init_limits();
init_record_key();

// src/process/clock.ts
init_limits();
import { readFileSync as readFileSync4 } from "fs";
var openClock = (env) => {
  const file = testVariable(env, "CUBBY_TEST_CLOCK");
  if (file === undefined) {
    return { now: Date.now, sweepEveryMs, keyUseEveryMs: lastUsedFlushMs, jumpHoldMs: clockJumpHoldMs };
  }
  const offsetMs = () => {
    try {
      return Number(readFileSync4(file, "utf8")) || 0;
    } catch {
      return 0;
    }
  };
  return { now: () => Date.now() + offsetMs(), sweepEveryMs: 200, keyUseEveryMs: 200, jumpHoldMs: 0 };
};

// src/cli/target/organization.ts
init_operator_error();
var requireOrganization = async (engine, name) => {
  const organization = await engine.organizations.find(name);
  if (organization !== undefined)
    return organization;
  throw new OperatorError(`there is no organization ${name}; see cubby orgs list, or create it: cubby orgs create ${name}`);
};

// src/cli/transfer/export-source.ts
var openStoreSource = async (location, org) => {
  const engine = await openEngine2(location, { role: "guest", mustExist: true });
  let dump;
  const close = async () => {
    await dump?.close();
    await engine.close();
  };
  try {
    const { id: orgId } = await requireOrganization(engine, org);
    const snapshot = await engine.transfer.openDump();
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
      rangeKey: rangeKey === noRangeKey ? undefined : JSON.stringify(rangeKey),
      data,
      ttl: ttlSeconds ?? undefined,
      updatedAt: updatedAtMs
    }));
  }
}
var openServerSource = (remote) => ({
  tables: (db) => listTables3(remote, db),
  async close() {}
});
var listTables3 = async (remote, db) => {
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

// src/cli/transfer/ndjson.ts
init_errors();
init_limits();
init_names();
init_steps();
init_indices();
init_json_scan();
init_json_span();
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
var addressFields = ["db", "table"];
var parseLine = (text) => {
  checkJson(text, "the line");
  const { value, data } = runThrough(readEnvelope(text, 0, ""));
  const members = parseObject(value, "the line");
  const db = members.db === undefined ? undefined : parseName(members.db, "db");
  const table = members.table === undefined ? undefined : parseName(members.table, "table");
  if (Object.hasOwn(members, "indices") && !Object.hasOwn(members, "hashKey")) {
    refuseUnknownMembers(members, [...addressFields, "indices"]);
    return { kind: "table", db, table, indices: parseIndices(outline(text).indices) };
  }
  const record = parseRecordToPut(members, text, data, undefined, "", [...addressFields, "updatedAt"]);
  return { kind: "record", db, table, record, updatedAtMs: parseUpdatedAt(members.updatedAt) };
};
var updatedAtMax = ttlSecondsMax * 1000;
var parseUpdatedAt = (value) => {
  if (value === undefined)
    return;
  if (typeof value === "number" && Number.isInteger(value) && value >= 0 && value <= updatedAtMax)
    return value;
  throw new CubbyError("invalid_request", `updatedAt is ${describeValue(value)}; it takes epoch milliseconds, an integer from 0 to ${updatedAtMax}.`, { field: "updatedAt", hint: "Leave it out: the record then counts as written now." });
};

// src/cli/commands/export.ts
var exportCommand = {
  name: "export",
  summary: "export the records of a database as JSON lines",
  details: `One record per line; each table begins with a line that declares it. With --out the file is written whole or
not at all, compressed if its name ends in .gz, and an existing file is not overwritten unless --force is
given; without --out the lines go to standard output.
With --data or --store it reads one consistent snapshot of the store, also beside a running server.`,
  flags: {
    db: dbFlag,
    table: { ...tableFlag, help: "this table only" },
    out: { type: "string", value: "FILE", help: "write to this file" },
    force: { type: "boolean", help: "with --out: replace an existing file, once the export is complete" },
    ...targetFlags,
    json: { ...jsonFlag, help: "with --out: print the summary as JSON" }
  },
  async run(args) {
    const target = chooseTarget(args);
    const db = requireName(args, "db");
    const only = args.text("table") === undefined ? undefined : requireName(args, "table");
    const file = args.text("out");
    if (file === "")
      throw new UsageError("--out is empty; it takes the name of a file");
    if (file === undefined && args.flag("json"))
      throw new UsageError("--json needs --out: without it the output is JSON already");
    if (file === undefined && args.isGiven("force"))
      throw new UsageError("--force needs --out: there is no file to replace");
    const replaces = args.flag("force");
    if (file !== undefined && !replaces)
      refuseExisting(file);
    const openOutput = () => file === undefined ? writeToStdout() : writeToFile(file, { replaces });
    const source = target.kind === "store" ? await openStoreSource(target.location, target.org) : openServerSource(target.remote);
    try {
      const tables = await chooseTables(source, db, only, target.kind);
      const { records, elapsedMs } = await exportTables(db, tables, openOutput);
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
var chooseTables = async (source, db, only, kind) => {
  const tables = (await source.tables(db)).filter(({ name }) => only === undefined || name === only);
  if (tables.length > 0)
    return tables;
  const missing = `there is no table ${only === undefined ? "" : `${only} `}in database ${db}`;
  const listing = only === undefined ? "cubby db list" : `cubby table list --db ${db}`;
  throw new OperatorError(kind === "server" ? `${missing}; see ${listing}` : missing);
};
var exportTables = async (db, tables, openOutput) => {
  const out = openOutput();
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

// src/cli/commands/get.ts
var getCommand = {
  name: "get",
  positionals: ["HASHKEY", "[RANGEKEY]"],
  summary: summaryOf(getRecordOperation),
  details: "Prints the record, with its data exactly as it was sent.",
  flags: { db: dbFlag, table: tableFlag, ...remoteFlags },
  async run(args) {
    const [db, table] = [requireName(args, "db"), requireName(args, "table")];
    const key = requireRecordKey(args);
    const record = await queryKey(openRemote(args), db, table, key);
    if (record === undefined)
      throw recordNotFound(key);
    await writeTextToStdout(record);
    return 0;
  }
};

// src/cli/commands/import.ts
init_operator_error();
init_arguments();

// src/cli/transfer/import-format.ts
init_arguments();
init_read_lines();
var formatFlags = {
  "hash-key": { type: "string", value: "FIELD", help: "for lines of other programs: the field that is the hash key" },
  "range-key": { type: "string", value: "FIELD", help: "the same for the range key; without it there is none" },
  format: { type: "string", value: "FORMAT", help: "csv or ndjson (by the name of FILE: .csv, .csv.gz are csv)" },
  numbers: { type: "string", value: "A,B", help: "CSV: these columns are numbers; the others are strings" },
  delimiter: { type: "string", value: "CHAR", help: 'CSV: what separates the cells, a character or "tab" (,)' }
};
var parseFormat = (args, file) => {
  const [hashKey, rangeKey] = [args.text("hash-key"), args.text("range-key")];
  const isCsv = parseFormatName(args.text("format"), file) === "csv";
  for (const flag of ["numbers", "delimiter"]) {
    if (!isCsv && args.isGiven(flag))
      throw new UsageError(`--${flag} is for CSV; give --format csv if ${file} is CSV`);
  }
  if (hashKey === undefined) {
    if (isCsv)
      throw new UsageError("--hash-key FIELD is missing: the column of a CSV file that is the hash key");
    if (rangeKey !== undefined)
      throw new UsageError("--range-key needs --hash-key");
    return { foreign: undefined, csv: undefined, description: [] };
  }
  for (const flag of ["db", "table"]) {
    if (args.text(flag) === undefined) {
      throw new UsageError(`--${flag} NAME is missing: with --hash-key the lines name no database and no table`);
    }
  }
  const csv = isCsv ? parseCsvFormat(args, hashKey, rangeKey) : undefined;
  const description = [
    ...[isCsv ? "CSV" : "NDJSON", `hash key ${hashKey}`, ...rangeKey === undefined ? [] : [`range key ${rangeKey}`]],
    ...csv === undefined || csv.numbers.length === 0 ? [] : [`numbers ${csv.numbers.join(",")}`],
    ...csv === undefined || csv.delimiter === "," ? [] : [`delimiter ${JSON.stringify(csv.delimiter)}`]
  ];
  return { foreign: { hashKey, rangeKey }, csv, description };
};
var parseFormatName = (text, file) => {
  if (text === undefined)
    return /\.csv(\.gz)?$/i.test(file) ? "csv" : "ndjson";
  if (text === "csv" || text === "ndjson")
    return text;
  throw new UsageError(`--format is "${text}"; it takes csv or ndjson`);
};
var parseCsvFormat = (args, hashKey, rangeKey) => {
  const numbers = args.text("numbers")?.split(",") ?? [];
  if (numbers.includes(""))
    throw new UsageError("--numbers takes names of columns, separated by commas");
  const text = args.text("delimiter") ?? ",";
  const delimiter = text === "tab" ? "\t" : text;
  if (!/^[\t\x20-\x7e]$/.test(delimiter) || delimiter === '"') {
    throw new UsageError(`--delimiter is ${JSON.stringify(text)}; it takes one character, such as ; or |, or "tab"`);
  }
  const named = [
    ["--hash-key", [hashKey]],
    ["--range-key", rangeKey === undefined ? [] : [rangeKey]],
    ["--numbers", numbers]
  ];
  return { delimiter, numbers, named };
};
var openLines = async (file, { csv }) => {
  const reader = readLines(file);
  if (csv === undefined)
    return reader;
  await Promise.resolve().then(() => init_csv());
  return readCsv(reader, csv);
};

// src/cli/transfer/import-lines.ts
init_errors();
init_indices();
init_hint_text();

// src/cli/transfer/foreign.ts
init_errors();
init_record_key();
init_json_scan();
init_json_span();
var parseForeignLine = (text, { hashKey, rangeKey }) => {
  checkJson(text, "the line");
  const start = skipSpace(text, 0);
  if (text[start] !== "{")
    parseObject(text[start] === "[" ? [] : JSON.parse(text), "the line");
  const spans = findMembers(text, start, [hashKey, rangeKey]);
  if (!spans.has(hashKey) && isTableLine(text, start)) {
    throw new CubbyError("invalid_request", "the line declares a table, as the lines of an export do. Import an export without --hash-key.");
  }
  const key = {
    hashKey: keyText(spans.get(hashKey), hashKey, "the hash key (--hash-key)"),
    rangeKey: rangeKey === undefined ? undefined : keyText(spans.get(rangeKey), rangeKey, "the range key (--range-key)")
  };
  const record = parseRecordToPut({ ...key, data: {} }, text, valueSpan(text, start), undefined);
  return { kind: "record", db: undefined, table: undefined, record, updatedAtMs: undefined };
};
var isTableLine = (text, start) => {
  const names = ["db", "table", "indices"];
  return findMembers(text, start, names).size === names.length;
};
var findMembers = (text, start, names) => {
  const found = new Map;
  const walk = new ObjectWalk(text, start, undefined);
  while (walk.next()) {
    const span = valueSpan(text, walk.at);
    if (names.includes(walk.name)) {
      if (found.has(walk.name)) {
        throw new CubbyError("invalid_key", `${shown2(walk.name)} appears twice in the line; it is a key of the record.`);
      }
      found.set(walk.name, text.slice(span.start, span.end));
    }
    walk.at = span.end;
  }
  return found;
};
var shown2 = (field) => field.length > 80 ? `${field.slice(0, 80)}\u2026` : field;
var keyText = (text, field, role) => {
  if (text === undefined) {
    throw new CubbyError("invalid_key", `${shown2(field)} is missing or empty; it is ${role} of the record.`);
  }
  const first = text[0];
  if (first === '"')
    return parseKeyPart(JSON.parse(text), shown2(field));
  if (first === "-" || first >= "0" && first <= "9")
    return parseKeyPart(text, shown2(field));
  const value = first === "{" ? {} : first === "[" ? [] : JSON.parse(text);
  const takes = `as ${role} it takes a string or a number`;
  throw new CubbyError("invalid_key", `${shown2(field)} is ${describeValue(value)}; ${takes}.`);
};

// src/cli/transfer/import-lines.ts
var openBatchesMax = 64;

class LineImporter {
  #target;
  #options;
  #open = new Map;
  #inFlight = new Map;
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
    for (const batch of [...this.#open.values(), ...this.#inFlight.keys()])
      line = Math.min(line, batch.firstLine - 1);
    const { records, unchanged, expired, refused } = this;
    return { line, records, unchanged, expired, refused };
  }
  async finish() {
    for (const key of [...this.#open.keys()])
      await this.#send(key);
    await this.#waitForBatches();
  }
  async drain() {
    await Promise.all(this.#inFlight.values());
  }
  async#takeLine(text, line) {
    const { foreign } = this.#options;
    if (line < this.#options.fromLine) {
      if (typeof text !== "string" || foreign !== undefined || !text.includes('"indices"'))
        return;
      const parsed = attempt(() => parseLine(text));
      if (parsed?.kind === "table")
        await this.#declare(parsed, line);
      return;
    }
    if (typeof text !== "string") {
      if (text.fault === "")
        return this.#refuseSilently();
      throw new LineRefused(text.fault);
    }
    if (text.trim() === "")
      return;
    const parsed = orRefuse(() => foreign === undefined ? parseLine(text) : parseForeignLine(text, foreign));
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
      throw new LineRefused(`${path} takes the records of ${first}; those of ${source} would be mixed with them.`);
    }
    return { db, name, path };
  }
  async#declare(line, number) {
    const { db, name, path } = this.#address(line);
    await this.#sendAndWait(path);
    const table = await this.#target.createTable(db, name, line.indices);
    const isNew = table.isNew || this.#tables.get(path)?.isNew === true;
    this.#tables.set(path, { ...table, isNew });
    if (JSON.stringify(table.indices) !== JSON.stringify(line.indices)) {
      this.#options.onNote(number, `${path} exists with other indices than declared here; it keeps its own.`);
    }
  }
  async#put({ record, updatedAtMs, ...line }, number) {
    const { db, name, path } = this.#address(line);
    const table = await this.#findTable(db, name, path);
    if (table === undefined)
      return this.#refuseSilently();
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
    throw new LineRefused(`there is no table ${path}, and no line before declares it; later lines for it are rejected without a message. ` + `Create it: cubby table create ${name} --db ${db}`);
  }
  async#send(path) {
    const batch = this.#open.get(path);
    if (batch === undefined)
      return;
    this.#open.delete(path);
    this.#inFlight.set(batch, this.#write(path, batch));
    while (this.#inFlight.size >= this.#target.batchesAtOnceMax) {
      await Promise.race(this.#inFlight.values());
      this.#throwFailure();
    }
  }
  async#sendAndWait(path) {
    await this.#send(path);
    await this.#waitForBatches();
  }
  async#waitForBatches() {
    await this.drain();
    this.#throwFailure();
  }
  async#write(path, batch) {
    try {
      const { unchanged, refused } = await this.#target.write(batch.table, batch.records);
      this.records += batch.records.length - refused.length;
      this.unchanged += unchanged;
      for (const { line, error } of refused)
        this.#refuse(line, errorLine(error));
      for (const { hashKey, rangeKey } of batch.records)
        this.#keys.delete(JSON.stringify([path, hashKey, rangeKey]));
      this.#inFlight.delete(batch);
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
  #refuseSilently() {
    this.refused++;
  }
}

class LineRefused extends Error {
}
var orRefuse = (work) => {
  try {
    return work();
  } catch (error) {
    throw error instanceof CubbyError ? new LineRefused(errorLine(error)) : error;
  }
};
var attempt = (work) => {
  try {
    return work();
  } catch {
    return;
  }
};

// src/cli/transfer/import-state.ts
init_operator_error();
import { readFileSync as readFileSync5, renameSync as renameSync3, rmSync as rmSync5, statSync as statSync6, writeFileSync as writeFileSync2 } from "fs";
import { resolve as resolve5 } from "path";

class ImportState {
  path;
  #file;
  #into;
  #broken = false;
  constructor(file, into) {
    this.path = `${resolve5(file)}.import-state`;
    const { size, mtimeMs } = statSync6(file);
    this.#file = { bytes: size, modifiedAt: Math.floor(mtimeMs) };
    this.#into = into;
  }
  load() {
    let kept;
    try {
      kept = JSON.parse(readFileSync5(this.path, "utf8"));
    } catch {
      throw new OperatorError(`there is no earlier import to continue: ${this.path} is missing or not readable`);
    }
    if (kept.into !== this.#into) {
      throw new OperatorError(`the earlier import went into ${kept.into}, not into ${this.#into}; start without --resume`);
    }
    if (kept.file.bytes !== this.#file.bytes || kept.file.modifiedAt !== this.#file.modifiedAt) {
      throw new OperatorError("the file has changed since the earlier import; start without --resume");
    }
    const { line, records, unchanged, expired = 0, refused } = kept;
    return { line, records, unchanged, expired, refused };
  }
  save(progress) {
    if (this.#broken)
      return;
    const kept = { ...progress, file: this.#file, into: this.#into };
    try {
      writeFileSync2(`${this.path}.new`, `${JSON.stringify(kept)}
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
    rmSync5(this.path, { force: true });
  }
}

// src/cli/transfer/import-target.ts
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
  constructor(engine, place, org, orgId) {
    this.#engine = engine;
    this.#orgId = orgId;
    this.description = `${place}, organization ${org}`;
    this.batchRecordsMax = engine.transfer.importBatchRecords;
  }
  get #caller() {
    return { orgId: this.#orgId, apiKey: undefined };
  }
  async createTable(db, name, indices) {
    const { table, created } = await this.#engine.tables.create(this.#caller, db, name, indices, this.#now());
    return { db, name, indices: table.indices, isNew: created, stored: table };
  }
  async findTable(db, name) {
    const table = await this.#engine.tables.find(this.#orgId, db, name);
    return table && { db, name, indices: table.indices, isNew: false, stored: table };
  }
  async write(table, records) {
    const nowMs = this.#now();
    const missing = table.isNew ? records : await this.#missing(table.stored, records, nowMs);
    const operations = missing.map(({ hashKey, rangeKey, data, ttlSeconds, entries, updatedAtMs }) => {
      return { op: "put", hashKey, rangeKey, data, ttlSeconds, entries, updatedAtMs, condition: undefined };
    });
    if (operations.length > 0)
      await this.#engine.records.write(this.#caller, table.stored, operations, nowMs);
    return { unchanged: records.length - missing.length, refused: [] };
  }
  async#missing(table, records, nowMs) {
    const present = await Promise.all(records.map((record) => record.updatedAtMs === undefined ? undefined : this.#engine.records.get(table, record, nowMs)));
    return records.filter((record, i) => !isSame(present[i], record));
  }
  close() {
    return this.#engine.close();
  }
}
var isSame = (there, { data, ttlSeconds, updatedAtMs }) => there?.updatedAtMs === updatedAtMs && there?.ttlSeconds === ttlSeconds && (there.data === data || minifyJson(there.data) === minifyJson(data));
var openStoreTarget = async (location, org) => {
  const store = await findStore(location);
  const engine = await store.open({ role: "owner", mustExist: true });
  try {
    return new StoreTarget(engine, store.describe(), org, (await requireOrganization(engine, org)).id);
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
      if (!(error instanceof CubbyError && error.code === "table_exists"))
        throw error;
      return await this.findTable(db, name);
    }
  }
  async findTable(db, name) {
    try {
      const text = await this.#remote.request({ method: "GET", path: `/v1/${db}/${name}`, repeatable: true });
      return { db, name, indices: JSON.parse(text).indices, isNew: false };
    } catch (error) {
      if (error instanceof CubbyError && error.code === "table_not_found")
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
  const range = rangeKey === noRangeKey ? "" : `,"rangeKey":${JSON.stringify(rangeKey)}`;
  const ttl = ttlSeconds === null ? "" : `,"ttl":${ttlSeconds}`;
  return `{"op":"put","hashKey":${JSON.stringify(hashKey)}${range},"data":${data}${ttl}}`;
};
var failedOperation = (error) => {
  const [, position] = error instanceof CubbyError && /^operations\[(\d+)\]/.exec(error.field ?? "") || [];
  return position === undefined ? undefined : Number(position);
};
var openServerTarget = (remote) => new ServerTarget(remote);

// src/cli/commands/import.ts
var saveEveryMs = 1000;
var attemptsMax2 = 14;
var importCommand = {
  name: "import",
  positionals: ["FILE"],
  summary: "import records from an export, from other JSON lines or from CSV",
  details: `FILE may be compressed with gzip; - is standard input. Missing tables are created from the lines that declare
them. A line whose ttl has passed is skipped and counted. A rejected line is reported and the import
continues; the exit code is then 1.
With --data or --store it writes into the store itself and keeps updatedAt; no server may run on the data
directory at that time. Through a server, updatedAt is the time of the import.
With --hash-key the lines are those of another program: each is a JSON object, or a line of CSV below a
header, and becomes the data of a record in the table --db, --table, which must exist. The key fields stay in
the data; a number as a key is used as it is written. Cells of CSV are strings; empty ones are left out.`,
  flags: {
    db: { ...dbFlag, help: "import into this database instead of those in the lines" },
    table: { ...tableFlag, help: "import into this table instead of those in the lines" },
    ...formatFlags,
    strict: { type: "boolean", help: "stop at the first rejected line" },
    resume: { type: "boolean", help: "continue an interrupted import of FILE" },
    "from-line": { type: "string", value: "N", help: "start at this line, counted from 1" },
    ...targetFlags,
    json: { ...jsonFlag, help: "print the summary as JSON" }
  },
  async run(args) {
    const file = args.positionals[0];
    const chosen = chooseTarget(args, attemptsMax2);
    const names = { db: optionalName(args, "db"), table: optionalName(args, "table") };
    const format = parseFormat(args, file);
    const begin = parseFromLine(args);
    if (args.flag("resume") && file === "-") {
      throw new UsageError("--resume needs a file; with standard input use --from-line N");
    }
    if (args.flag("resume") && begin > 1)
      throw new UsageError("--resume and --from-line cannot be combined");
    const reader = await openLines(file, format);
    const target = chosen.kind === "store" ? await openStoreTarget(chosen.location, chosen.org) : openServerTarget(chosen.remote);
    try {
      const { foreign, description } = format;
      if (foreign !== undefined)
        await requireTable2(target, names.db, names.table);
      const known = Object.values(names).filter((name) => name !== undefined);
      const into = [target.description, ...known, ...description].join(", ");
      const state = file === "-" ? undefined : new ImportState(file, into);
      const earlier = args.flag("resume") ? state.load() : undefined;
      const fromLine = earlier === undefined ? begin : earlier.line + 1;
      const strict = args.flag("strict");
      const isCsv = format.csv !== undefined;
      const job = { file, reader, target, state, earlier, ...names, foreign, isCsv, fromLine, strict };
      return await new Import(job).run(args.flag("json"));
    } finally {
      await target.close();
    }
  }
};
var requireTable2 = async (target, db, table) => {
  if (await target.findTable(db, table) !== undefined)
    return;
  throw new OperatorError(`there is no table ${db}/${table}. Create it: cubby table create ${table} --db ${db}`);
};
var parseFromLine = (args) => {
  const text = args.text("from-line");
  if (text === undefined)
    return 1;
  const line = Number(text);
  if (/^[0-9]+$/.test(text) && Number.isSafeInteger(line) && line >= 1)
    return line;
  throw new UsageError(`--from-line is "${text}"; it takes a line number, 1 or more`);
};
var otherFormats = (isForeign) => isForeign ? "no line was accepted. Each takes a JSON object of its own; jq -c '.[]' makes such lines of an array. For CSV give --format csv" : "no line was accepted. If the lines are not of an export, give --hash-key FIELD; if they are CSV, --format csv too";

class Import {
  #job;
  #importer;
  #progress = new Progress;
  #ending = "end of file";
  constructor(job) {
    const { db, table, foreign, fromLine } = job;
    const { now } = openClock(process.env);
    const onRefused = (line, reason) => {
      this.#progress.say(`line ${line}: ${reason}`);
      if (job.strict)
        this.#end("strict");
    };
    const onNote = (line, note) => this.#progress.say(`line ${line}: ${note}`);
    this.#job = job;
    this.#importer = new LineImporter(job.target, { db, table, foreign, fromLine, now, onRefused, onNote }, job.earlier);
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
      this.#tellHowToContinue();
      throw error;
    } finally {
      clearInterval(saving);
      process.off("SIGINT", onSignal).off("SIGTERM", onSignal);
      this.#progress.clear();
    }
    if (this.#ending === "end of file")
      this.#job.state?.remove();
    else
      this.#tellHowToContinue();
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
    if (records === 0 && refused > 0 && !this.#job.isCsv)
      printNote(otherFormats(this.#job.foreign !== undefined));
  }
  #save() {
    const progress = this.#importer.progress();
    if (progress.line < this.#job.fromLine)
      return;
    this.#job.state?.save(progress);
    return progress;
  }
  #tellHowToContinue() {
    const { file, state } = this.#job;
    const progress = this.#save();
    if (progress === undefined)
      return;
    if (this.#ending === "strict") {
      printNote(`stopped at line ${progress.line}; fix it, then continue with --from-line ${progress.line}`);
      return;
    }
    const how = state?.kept === true ? "--resume" : `--from-line ${progress.line + 1}`;
    printNote(`stopped after line ${progress.line} of ${file}; continue with ${how}`);
  }
}

// src/cli/commands/keys.ts
init_api_key();
init_errors();
init_limits();
init_operator_error();
init_iso_date_time();
init_arguments();
var orgFlag = { type: "string", value: "NAME", help: "the organization" };
var requireFlag = (args, flag, shown) => {
  if (args.text(flag) === undefined)
    throw new UsageError(`${shown} is missing`);
};
var asOperator = (engine, { id }) => ({ engine, orgId: id });
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
  summary: summaryOf(createApiKeyOperation),
  details: "The key is printed only once: the store keeps its hash.",
  flags: {
    ...storeFlags,
    org: orgFlag,
    kind: { type: "string", value: "KIND", help: "secret (reads and writes) or public (reads)" },
    name: { type: "string", value: "TEXT", help: "a label for the key" },
    "expires-at": { type: "string", value: "TIME", help: "epoch milliseconds or an ISO-8601 date-time" },
    databases: { type: "string", value: "A,B", help: "limit the key to these databases" },
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
      const organization = await requireOrganization(engine, args.text("org"));
      const { apiKey, text } = await createApiKey(asOperator(engine, organization), request, nowMs);
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
  summary: summaryOf(listApiKeysOperation),
  details: `The keys of one organization, newest first: the databases that a key may use, when it expires and when it was
last used, in UTC. The time of the last use may be 30 seconds late.`,
  flags: { ...storeFlags, org: orgFlag, json: jsonFlag },
  async run(args) {
    requireFlag(args, "org", "--org NAME");
    return withStore(args, { mustExist: true }, async (engine) => {
      const organization = await requireOrganization(engine, args.text("org"));
      const nowMs = openClock(process.env).now();
      const keys = [];
      for (let cursor;cursor !== null; ) {
        const page = await listApiKeys(asOperator(engine, organization), { limit: pageRowsMax, cursor });
        keys.push(...page.keys);
        cursor = page.cursor;
      }
      const shown = keys.map((key) => presentApiKey(key, nowMs));
      if (args.flag("json"))
        printJson({ keys: shown, cursor: null });
      else
        printKeys(shown);
      return 0;
    });
  }
};
var printKeys = (keys) => {
  const rows = keys.map((key) => [
    ...[key.id, key.kind, key.status, key.masked],
    ...[showTime(key.expiresAt), showTime(key.lastUsedAt), showDatabases(key.databases), key.name ?? ""]
  ]);
  const table = [["ID", "KIND", "STATUS", "KEY", "EXPIRES", "LAST USED", "DATABASES", "NAME"], ...rows];
  if (!process.stdout.isTTY || tableWidth(table) <= process.stdout.columns) {
    printTable(table);
    return;
  }
  for (const [id, kind, status, masked, expires, lastUsed, databases, name] of rows) {
    printLine([id, kind, status.padEnd(7), masked.padEnd(17), name].join("  ").trimEnd());
    printLine(`  expires ${expires}, last used ${lastUsed}, databases ${databases}`);
  }
};
var showTime = (ms) => ms === null ? "never" : `${new Date(ms).toISOString().slice(0, "YYYY-MM-DDTHH:mm".length)}Z`;
var databasesShownMax = 3;
var showDatabases = (databases) => {
  if (databases === null)
    return "all";
  const more = databases.length - databasesShownMax;
  return databases.slice(0, databasesShownMax).join(",") + (more > 0 ? `,+${more}` : "");
};
var keysRevokeCommand = {
  name: "keys revoke",
  positionals: ["ID"],
  summary: summaryOf(revokeApiKeyOperation),
  details: "This is permanent. When the command ends, running servers reject the key too.",
  flags: { ...storeFlags, org: orgFlag, json: jsonFlag },
  async run(args) {
    requireFlag(args, "org", "--org NAME");
    return withStore(args, { mustExist: true }, async (engine) => {
      const organization = await requireOrganization(engine, args.text("org"));
      const nowMs = openClock(process.env).now();
      const key = await revokeApiKey(asOperator(engine, organization), { id: args.positionals[0] }, nowMs).catch((error) => {
        if (!(error instanceof CubbyError) || error.code !== "key_not_found")
          throw error;
        const { name } = organization;
        throw new OperatorError(`${name} has no API key with that id; see cubby keys list --org ${name}`);
      });
      if (args.flag("json"))
        printJson(presentApiKey(key, nowMs));
      else
        printLine(`revoked ${key.id}`);
      return 0;
    });
  }
};

// src/cli/commands/orgs.ts
init_names();
init_operator_error();

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
var listOrganizations2 = async ({ engine }) => engine.organizations.list();
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
  run: listOrganizations2,
  present: (organizations) => JSON.stringify(presentOrganizations(organizations))
});

// src/cli/commands/orgs.ts
init_arguments();
var orgsCreateCommand = {
  name: "orgs create",
  positionals: ["NAME"],
  summary: summaryOf(createOrganizationOperation),
  details: "The keys are printed only once: the store keeps their hashes.",
  flags: { ...storeFlags, json: jsonFlag },
  async run(args) {
    const name = orUsageError(() => parseName(args.positionals[0], "NAME"));
    return withStore(args, { mustExist: false }, async (engine) => {
      const made = await createOrganization({ engine }, { name }, openClock(process.env).now());
      if (made === undefined)
        throw new OperatorError(`there is already an organization ${name}`);
      if (args.flag("json"))
        printJson(presentNewOrganization(made));
      else {
        printLine(`organization ${name}`);
        printLine(`secret key   ${made.secretKey}`);
        printLine(`public key   ${made.publicKey}`);
      }
      return 0;
    });
  }
};
var orgsListCommand = {
  name: "orgs list",
  summary: summaryOf(listOrganizationsOperation),
  flags: { ...storeFlags, json: jsonFlag },
  run: (args) => withStore(args, { mustExist: true }, async (engine) => {
    const organizations = await listOrganizations2({ engine });
    if (args.flag("json"))
      printJson(presentOrganizations(organizations));
    else {
      const rows = organizations.map(({ name, createdAtMs }) => [name, new Date(createdAtMs).toISOString()]);
      printTable([["NAME", "CREATED"], ...rows]);
    }
    return 0;
  })
};

// src/cli/commands/put.ts
init_iso_date_time();
init_arguments();
var putCommand = {
  name: "put",
  positionals: ["HASHKEY", "[RANGEKEY]"],
  summary: summaryOf(putRecordOperation),
  details: `Prints the record. The data is a JSON object, from --data or from standard input. It is stored exactly as
given.`,
  flags: {
    db: dbFlag,
    table: tableFlag,
    data: { type: "string", value: "JSON", help: "the data; default: standard input" },
    ttl: { type: "string", value: "TIME", help: "when the record expires: epoch seconds or an ISO-8601 date-time" },
    "if-match": ifMatchFlag,
    "if-absent": { type: "boolean", help: "only if there is no such record yet" },
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
    await writeTextToStdout(await remote.request({ method: "PUT", path: `/v1/${db}/${table}`, body, headers, repeatable: false }));
    return 0;
  }
};
var parseConditions = (args) => {
  const ifMatch = parseIfMatch(args);
  if (ifMatch === undefined)
    return args.flag("if-absent") ? { "if-none-match": "*" } : {};
  if (args.flag("if-absent"))
    throw new UsageError("--if-match and --if-absent cannot be combined");
  return ifMatchHeader(ifMatch);
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

// src/cli/commands/query.ts
init_indices();
init_arguments();
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
  summary: summaryOf(queryRecordsOperation),
  details: `Prints one record per line. --select keys leaves out their data; --select count prints how many there are.
Without --index the query is by primary key: --hash is the hash key. --index t is by time of the last write,
newest first; --index i1 to i5 are the declared indices. Keys are used literally. Values of a declared
index are numbers, true, false or strings; quote a string that looks like one of the others: --hash '"5"'.
--gt or --gte can be combined with --lt or --lte. The output has no white space outside strings.`,
  flags: {
    db: dbFlag,
    table: tableFlag,
    index: { type: "string", value: "INDEX", help: "t, or a declared index: i1 to i5" },
    hash: { type: "string", value: "VALUE", help: "the hash key, or the value of the hash field" },
    ...Object.fromEntries(operators.map(([flag, , words]) => [flag, { type: "string", value: "VALUE", help: `a range ${words} this` }])),
    ascending: { type: "boolean", help: "in ascending order" },
    descending: { type: "boolean", help: "in descending order" },
    select: { type: "string", value: "PART", help: "data, keys or count (data)" },
    limit: { type: "string", value: "N", help: "records per page, at most 1000 (100); with count: count to N at most" },
    all: { type: "boolean", help: "all pages, not only the first" },
    cursor: { type: "string", value: "CURSOR", help: "continue after an earlier page" },
    page: { type: "boolean", help: 'print the whole answer: {"items":[\u2026],"count":\u2026,"cursor":\u2026}' },
    ...remoteFlags
  },
  async run(args) {
    const [db, table] = [requireName(args, "db"), requireName(args, "table")];
    if (args.flag("page") && args.flag("all"))
      throw new UsageError("--page and --all cannot be combined");
    const query = parseQuery2(args);
    const remote = openRemote(args);
    if (query.select === '"count"' && !args.flag("page")) {
      if (args.flag("all"))
        delete query.limit;
      return printCount((more) => queryPage(remote, db, table, { ...query, ...more }), query.limit);
    }
    const out = writeToStdout();
    for await (const { text, items, cursor } of queryPages(remote, db, table, query)) {
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
      if (cursor !== null && !args.flag("page"))
        noteMore(cursor);
      return 0;
    }
    await out.end();
    return 0;
  }
};
var noteMore = (cursor) => printNote(`there is more: add --all, or --cursor ${cursor}`);
var printCount = async (ask, limit) => {
  let total = 0;
  let more = {};
  for (;; ) {
    const { count, cursor } = await ask(more);
    total += count;
    const rest = Number(limit ?? Number.POSITIVE_INFINITY) - total;
    if (cursor === null || rest <= 0) {
      printLine(String(total));
      if (cursor !== null)
        noteMore(cursor);
      return 0;
    }
    more = { cursor: JSON.stringify(cursor), ...limit !== undefined && { limit: String(rest) } };
  }
};
var parseQuery2 = (args) => {
  const index = args.text("index");
  if (index !== undefined && index !== "t" && !slots.includes(index)) {
    throw new UsageError(`--index is "${index}"; it takes t or i1 to i5`);
  }
  const hash = args.text("hash");
  if (hash === undefined && index !== "t")
    throw new UsageError("--hash VALUE is missing");
  if (hash !== undefined && index === "t") {
    throw new UsageError("--hash and --index t cannot be combined: t covers the whole table");
  }
  if (args.text("begins-with") !== undefined && index === "t") {
    throw new UsageError("--begins-with is for strings, and t is a time; use --gte or --lt");
  }
  const valueText = index === undefined ? JSON.stringify : indexValueText;
  const query = {};
  if (index !== undefined)
    query.index = `"${index}"`;
  if (hash !== undefined)
    query.hash = valueText(hash);
  const range = parseRange2(args, valueText);
  if (range !== undefined)
    query.range = range;
  if (args.flag("ascending") && args.flag("descending")) {
    throw new UsageError("--ascending and --descending cannot be combined");
  }
  if (args.flag("ascending") || args.flag("descending"))
    query.ascending = String(args.flag("ascending"));
  const select = args.text("select");
  if (select !== undefined && !selections.includes(select)) {
    throw new UsageError(`--select is "${select}"; it takes data, keys or count`);
  }
  if (select !== undefined)
    query.select = `"${select}"`;
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
var parseRange2 = (args, valueText) => {
  const given = operators.flatMap(([flag, operator]) => {
    const value = args.text(flag);
    return value === undefined ? [] : [[operator, flag === "begins-with" ? JSON.stringify(value) : valueText(value)]];
  });
  if (given.length === 0)
    return;
  const names = given.map(([operator]) => operator);
  const isPair = names.length === 2 && names.some((name) => /^gte?$/.test(name)) && names.some((name) => /^lte?$/.test(name));
  if (names.length > 1 && !isPair) {
    throw new UsageError("a range takes one operator, or --gt or --gte together with --lt or --lte");
  }
  return `{${given.map(([operator, text]) => `"${operator}":${text}`).join(",")}}`;
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

// src/process/logger.ts
init_printable();
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

// src/background/checksums.ts
init_limits();

// src/background/paced-steps.ts
var restFactor = 3;

class PacedSteps {
  isStopped = false;
  #wake;
  rest(ms) {
    return new Promise((resolve) => {
      this.#wake = resolve;
      setTimeout(resolve, ms);
    });
  }
  async drain(step) {
    let sum = 0;
    while (!this.isStopped) {
      const started = performance.now();
      const done = await step();
      if (done === 0)
        break;
      sum += done;
      await this.rest(Math.ceil((performance.now() - started) * restFactor));
    }
    return sum;
  }
  stop() {
    this.isStopped = true;
    this.#wake?.();
  }
}

// src/background/checksums.ts
var startChecksums = ({ maintenance, log, retryMs }) => {
  const steps = new PacedSteps;
  const run = async () => {
    let rows = 0;
    while (!steps.isStopped) {
      try {
        rows += await steps.drain(() => maintenance.addChecksums(checksumRowsMax));
        if (!steps.isStopped && rows > 0)
          log("info", "the records of version 0.1 have checksums now", { rows });
        return;
      } catch (error) {
        if (steps.isStopped)
          return;
        log("warn", "adding checksums failed; it is retried later", { cause: String(error) });
        await steps.rest(retryMs);
      }
    }
  };
  const running = run();
  return {
    async stop() {
      steps.stop();
      await running;
    }
  };
};

// src/background/key-use.ts
init_limits();
var usesPerWrite = 500;
var startKeyUse = (apiKeys, log, everyMs) => {
  let noted = new Map;
  const flush = async () => {
    const uses = [...noted].map(([id, atMs]) => ({ id, atMs }));
    noted = new Map;
    try {
      for (let i = 0;i < uses.length; i += usesPerWrite)
        await apiKeys.noteUse(uses.slice(i, i + usesPerWrite));
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
var jumpMs = 60000;
var makeWaryClock = (now, holdMs, log) => {
  let acceptedMs = now();
  let acceptedAt = performance.now();
  let jumpedAt;
  return () => {
    const at = performance.now();
    const nowMs = now();
    const expectedMs = Math.floor(acceptedMs + (at - acceptedAt));
    const aheadMs = nowMs - expectedMs;
    if (aheadMs > jumpMs) {
      if (jumpedAt === undefined) {
        jumpedAt = at;
        const seconds = Math.round(aheadMs / 1000);
        log("warn", "the clock jumped ahead; sweeps ignore it for now", { seconds, holdSeconds: holdMs / 1000 });
      }
      if (at - jumpedAt < holdMs)
        return expectedMs;
    }
    acceptedMs = nowMs;
    acceptedAt = at;
    jumpedAt = undefined;
    return nowMs;
  };
};

// src/background/sweeps.ts
var startSweeps = ({ maintenance, now, log, jumpHoldMs, everyMs }) => {
  const waryNow = makeWaryClock(now, jumpHoldMs, log);
  const steps = new PacedSteps;
  const run = async () => {
    while (!steps.isStopped) {
      try {
        await steps.drain(() => maintenance.sweepExpired(waryNow(), sweepRowsMax));
        await steps.drain(() => maintenance.purgeTables(waryNow(), sweepRowsMax));
      } catch (error) {
        if (!steps.isStopped)
          log("warn", "sweep failed; it is retried later", { cause: String(error) });
      }
      if (!steps.isStopped)
        await steps.rest(everyMs);
    }
  };
  const running = run();
  return {
    async stop() {
      steps.stop();
      await running;
    }
  };
};

// src/process/serve.ts
init_limits();

// src/http/server.ts
init_limits();

// src/http/answer-error.ts
init_errors();

// src/http/authenticate.ts
init_api_key();
init_errors();
init_hint();
init_limits();

// src/operations/authorize.ts
init_errors();
var authorize = (apiKey, keyNeeded, db) => {
  if (keyNeeded === "operator")
    throw new Error("an adapter offered an operation of operators to an API key");
  if (apiKey.kind === "public" && keyNeeded !== "read") {
    throw new CubbyError("read_only_key", "A public key reads records and tables; this request needs a secret key.", {
      hint: "Send it from your server with a secret key (svc_live_\u2026)."
    });
  }
  if (apiKey.databases === null)
    return;
  if (keyNeeded === "manage-keys") {
    throw new CubbyError("key_scope", "A key limited to databases cannot manage keys.", {
      hint: 'Use a secret key without a "databases" limit.'
    });
  }
  if (db !== undefined && !apiKey.databases.includes(db)) {
    throw new CubbyError("key_scope", "The API key is limited to other databases.", {
      hint: `It may use: ${apiKey.databases.join(", ")}.`
    });
  }
};

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
var record2 = "/v1/:db/:table/:hashKey";
var searches = ["search", "list", "scan", "filter", "select", "all", "records", "items"];
var batches = ["bulk", "import", "transaction", "many"];
var wrongMethods = [
  { methods: "POST", path: record2, words: searches, say: found },
  { methods: "POST", path: record2, words: batches, say: batched },
  { methods: "POST", path: record2, words: ["undelete", "recover"], say: restored },
  { methods: "POST", path: record2, words: ["delete", "remove"], say: recordsDeleted },
  { methods: "PUT POST", path: record2, say: writtenElsewhere },
  {
    methods: "PUT POST",
    path: `${record2}/:rangeKey`,
    say: (names) => `${writtenElsewhere(names)}, and rangeKey beside it`
  },
  { methods: "PATCH", path: "/v1/:db/:table", say: replaced },
  { methods: "PATCH", path: record2, say: replaced },
  { methods: "PATCH", path: `${record2}/:rangeKey`, say: replaced },
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
  return new CubbyError(error.code, error.message, { field: error.field, hint: own + sentence(row.say(names)) });
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

// src/http/authenticate.ts
var invalid = (message, hint = 'Send "Authorization: Bearer svc_live_\u2026" or "svc_pub_\u2026".') => new CubbyError("invalid_api_key", message, { hint });
var readHeaders = new Map;
var presentedKey = (request) => {
  const header = request.headers.get("authorization");
  if (header === null) {
    throw new CubbyError("missing_api_key", "The request carries no API key.", { hint: missingKeyHint(request) });
  }
  const known = readHeaders.get(header);
  if (known !== undefined)
    return known;
  const text = /^bearer +(\S+)$/i.exec(header)?.[1];
  if (text === undefined) {
    throw invalid('The Authorization header is not of the form "Bearer <API key>".', wrongSchemeHint(header));
  }
  if (!isWellFormedApiKey(text))
    throw invalid("The API key is malformed.");
  if (header.length !== "Bearer ".length + text.length)
    return text;
  if (readHeaders.size >= apiKeyCacheEntriesMax)
    readHeaders.clear();
  readHeaders.set(header, text);
  return text;
};
var keyUseNoteMs = 1000;

class Authenticator {
  #engine;
  #now;
  #onKeyUse;
  #notedKeyId = "";
  #notedAtMs = Number.NEGATIVE_INFINITY;
  constructor(engine, now, onKeyUse) {
    this.#engine = engine;
    this.#now = now;
    this.#onKeyUse = onKeyUse;
  }
  authenticate(caller) {
    const nowMs = this.#now();
    caller.nowMs = nowMs;
    const { request } = caller;
    return andThen(findActiveKey(this.#engine, request, nowMs), (apiKey) => {
      refuseInForeignPage(apiKey, request.headers);
      authorize(apiKey, caller.keyNeeded, caller.params.db);
      this.#noteKeyUse(apiKey.id, nowMs);
      caller.access = { engine: this.#engine, apiKey };
    });
  }
  #noteKeyUse(keyId, nowMs) {
    const sinceMs = nowMs - this.#notedAtMs;
    if (keyId === this.#notedKeyId && sinceMs >= 0 && sinceMs < keyUseNoteMs)
      return;
    this.#notedKeyId = keyId;
    this.#notedAtMs = nowMs;
    this.#onKeyUse(keyId, nowMs);
  }
}
var findActiveKey = (engine, request, nowMs) => andThen(engine.apiKeys.find(presentedKey(request)), (apiKey) => {
  if (apiKey === undefined)
    throw invalid("The API key is unknown.");
  refuseRetired(apiKey, nowMs);
  return apiKey;
});
var revoked = () => new CubbyError("revoked_api_key", "The API key has been revoked.", {
  hint: "Use another key; revocation is permanent."
});
var refuseRetired = (apiKey, nowMs) => {
  if (apiKey.revokedAtMs !== null)
    throw revoked();
  if (apiKey.expiresAtMs !== null && apiKey.expiresAtMs <= nowMs) {
    throw new CubbyError("expired_api_key", `The API key expired at ${new Date(apiKey.expiresAtMs).toISOString()}.`, {
      hint: ["Create another key: ", call("createApiKey"), "."]
    });
  }
};
var refuseInForeignPage = (apiKey, headers) => {
  if (apiKey.kind === "public" || !isFromForeignPage(headers))
    return;
  throw new CubbyError("secret_key_in_browser", "A secret key was sent by a web page of another origin.", {
    hint: "Use a public key (svc_pub_\u2026) in browsers, revoke this one, and keep secret keys on your server."
  });
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

// src/http/body-faults.ts
init_errors();
init_limits();
var tooLarge = (bytesMax, hint) => new CubbyError("body_too_large", `The body is larger than ${bytesMax} bytes.`, { hint });
var tooMany = () => new CubbyError("unavailable", "Too many bodies of requests with this API key are arriving at once.", {
  hint: "Repeat the request after the time in Retry-After; nothing was applied."
});
var cutShort = () => new CubbyError("invalid_request", "The body ended before it was complete.");

class BodyAbandoned extends CubbyError {
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
var withoutLength = () => new CubbyError("invalid_request", "The body is chunked; this request needs Content-Length.", {
  hint: "Send the body with its length."
});

// src/http/respond.ts
init_record_json();

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

// src/http/answer-error.ts
var answerError = (log, requestId, error, names) => {
  if (error instanceof CubbyError) {
    if (error.code === "internal" || error.code === "outcome_unknown") {
      log("error", "request failed", { requestId, code: error.code, cause: error.cause });
    }
    const response = respondError(requestId, error.code === "revoked_api_key" ? revoked() : error, { names });
    if (error instanceof BodyAbandoned)
      response.headers.set("Connection", "close");
    return response;
  }
  log("error", "request failed", { requestId, cause: causeOf2(error) });
  return respondError(requestId, new CubbyError("internal", "The server failed to answer this request.", {
    hint: "This is a fault of the server; its log has the cause under this requestId."
  }));
};
var causeOf2 = (error) => error instanceof Error ? error.stack ?? error.message : String(error);
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

// src/http/connections.ts
import { readdirSync as readdirSync2, readFileSync as readFileSync6 } from "fs";
var openFilesMax = () => {
  try {
    const line = readFileSync6("/proc/self/limits", "utf8").split(`
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

// src/http/accept.ts
var weightValue = /^(?:0(?:\.\d{0,3})?|1(?:\.0{0,3})?)$/;
var weightIn = (parameters) => {
  const given = parameters.map((parameter) => parameter.trim()).find((parameter) => parameter.startsWith("q="));
  if (given === undefined)
    return 1;
  return weightValue.test(given.slice(2)) ? Number(given.slice(2)) : undefined;
};
var weightOf = (header, names) => {
  const weights = new Map;
  for (const element of header.toLowerCase().split(",")) {
    const [name, ...parameters] = element.split(";");
    const weight = weightIn(parameters);
    if (weight !== undefined)
      weights.set(name.trim(), Math.max(weight, weights.get(name.trim()) ?? 0));
  }
  const first = names.find((name) => weights.has(name));
  return first === undefined ? undefined : weights.get(first);
};
var typeWeight = (accept, type, subtype) => weightOf(accept, [`${type}/${subtype}`, `${type}/*`, "*/*"]) ?? 0;
var prefersHtml = (accept) => accept !== null && typeWeight(accept, "text", "html") > typeWeight(accept, "application", "json");
var acceptsGzip = (acceptEncoding) => {
  if (acceptEncoding === null)
    return false;
  const gzip = weightOf(acceptEncoding, ["gzip", "x-gzip", "*"]) ?? 0;
  return gzip > 0 && gzip >= (weightOf(acceptEncoding, ["identity"]) ?? 0);
};

// src/http/entry-point.ts
var plainHost = /^(?:[A-Za-z0-9._~-]{1,253}|\[[0-9A-Fa-f:.]{2,45}\])(?::[0-9]{1,5})?$/;
var baseUrl = (publicUrl, host, ownUrl) => {
  if (publicUrl !== undefined)
    return publicUrl;
  return host !== null && plainHost.test(host) ? `http://${host}` : ownUrl;
};
var entryPoint = (publicUrl) => {
  const prefix = publicUrl === undefined ? "" : new URL(publicUrl).pathname.replace(/\/$/, "");
  return (requestId, { headers }, ownUrl) => {
    if (prefersHtml(headers.get("accept")))
      return respondRedirect(requestId, `${prefix}/docs`);
    const base = baseUrl(publicUrl, headers.get("host"), ownUrl);
    const { version } = package_default;
    return respondEntryPoint(requestId, {
      name: "Cubby",
      version,
      docs: `${base}/docs`,
      openapi: `${base}/openapi.json`
    });
  };
};

// src/http/conditions.ts
init_errors();
var refuse7 = (header, message, hint) => {
  throw new CubbyError("invalid_request", `${header} ${message}`, { field: header, hint });
};
var refuseConditions = (headers) => {
  for (const header of ["If-Match", "If-None-Match"]) {
    if (headers.has(header))
      refuse7(header, "is not allowed on this request.", "Conditions are allowed on GET, PUT and DELETE of a record.");
  }
};
var versionTag = /^"(0|[1-9][0-9]{0,15})"$/;
var strongTag = /^"[\x21\x23-\x7e\x80-\xff]*"$/;
var noVersion = -1;
var parseIfMatch2 = (value) => {
  if (value === "*")
    return "exists";
  const version = versionTag.exec(value);
  if (version !== null)
    return { version: Number(version[1]) };
  if (strongTag.test(value))
    return { version: noVersion };
  return refuse7("If-Match", "is not one strong entity tag.", 'Send the ETag of a record unchanged, quotes included, for example "1767225600000"; or *.');
};
var parseWriteCondition = (headers, method) => {
  const ifMatch = headers.get("if-match");
  const ifNoneMatch = headers.get("if-none-match");
  if (ifNoneMatch === null)
    return ifMatch === null ? undefined : parseIfMatch2(ifMatch);
  if (method === "DELETE")
    return refuse7("If-None-Match", "is not allowed on DELETE.", "Use If-Match.");
  if (ifMatch !== null)
    return refuse7("If-None-Match", "cannot be combined with If-Match.", "Send one condition.");
  if (ifNoneMatch !== "*") {
    return refuse7("If-None-Match", "takes only * on PUT.", "Send If-None-Match: * to create, If-Match to replace.");
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
    refuse7("If-Match", "is not allowed on GET.", "Use If-None-Match to revalidate a copy.");
};
var wantsMinimal = (headers) => {
  const value = headers.get("prefer");
  return value !== null && /(?:^|[,;])\s*return\s*=\s*"?minimal"?\s*(?:$|[,;])/i.test(value);
};

// src/http/pages.ts
var respondPage = (requestId, request, page) => {
  const headers = {
    ETag: `W/"${page.version}"`,
    "Cache-Control": "private, no-cache",
    Vary: "Accept-Encoding",
    "X-Request-Id": requestId,
    "X-Content-Type-Options": "nosniff",
    "Access-Control-Allow-Origin": "*",
    "Access-Control-Expose-Headers": exposedHeaders,
    ...page.headers
  };
  if (matchesIfNoneMatch(request.headers, page.version))
    return new Response(null, { status: 304, headers });
  if (!acceptsGzip(request.headers.get("accept-encoding")))
    return new Response(page.body, { headers });
  return new Response(page.gzipped, { headers: { ...headers, "Content-Encoding": "gzip" } });
};

// src/http/pipeline.ts
init_errors();

// src/http/admit.ts
init_errors();
init_limits();
var tooMany2 = () => new CubbyError("unavailable", "Too many requests with this API key are in flight; nothing was applied.", {
  hint: "Repeat the request after the time in Retry-After."
});

class Admission {
  #inFlight = new Shares(requestsInFlightMax);
  admit(request) {
    request.isAdmitted = this.#inFlight.tryTake(request.orgId, request.keySeq, 1);
    if (!request.isAdmitted)
      throw tooMany2();
  }
  leave(request) {
    this.#inFlight.give(request.orgId, request.keySeq, 1);
    request.isAdmitted = false;
  }
}

// src/http/answers.ts
init_errors();
init_limits();

// src/http/answer-stream.ts
var sendChunks = (answer, pieceBytes, hold, release) => {
  const source = answer.chunks[Symbol.asyncIterator]();
  let chunk = new Uint8Array;
  let at = 0;
  let sentBytes = 0;
  let isOver = false;
  const end = () => {
    isOver = true;
    release();
    answer.onEnd();
  };
  const nextChunk = async () => {
    await answer.turn();
    const { value, done } = await source.next();
    if (done === true) {
      if (answer.bytes !== undefined && sentBytes !== answer.bytes)
        throw new Error(wrongLength(sentBytes, answer.bytes));
      return false;
    }
    if (answer.bytes !== undefined && sentBytes + value.length > answer.bytes) {
      throw new Error(wrongLength(sentBytes + value.length, answer.bytes));
    }
    if (!isOver)
      hold(value.length);
    chunk = value;
    at = 0;
    return true;
  };
  const pull = async (controller) => {
    try {
      answer.onWaiting();
      while (at === chunk.length) {
        if (await nextChunk())
          continue;
        if (isOver)
          return;
        end();
        controller.close();
        return;
      }
      if (isOver)
        return;
      const piece = chunk.subarray(at, at + pieceBytes);
      at += piece.length;
      sentBytes += piece.length;
      answer.onSending();
      controller.enqueue(piece);
    } catch (error) {
      if (isOver)
        return;
      end();
      answer.onFault(error);
      stopSource(source);
      controller.error(undefined);
    }
  };
  const cancel = () => {
    if (isOver)
      return;
    end();
    stopSource(source);
  };
  return new ReadableStream({ pull, cancel }, { highWaterMark: 0 });
};
var stopSource = (source) => {
  source.return?.().catch(() => {});
};
var discardChunks = (chunks) => stopSource(chunks[Symbol.asyncIterator]());
var wrongLength = (bytes, declaredBytes) => `the answer has ${bytes} bytes so far; ${declaredBytes} were declared`;

// src/http/answers.ts
var streamedFromBytes = 32 * 1024;
var pieceBytes = 256 * 1024;
var encoder2 = new TextEncoder;
var unread = () => new CubbyError("unavailable", "Too many large answers to this API key are still unread.", {
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
  streamFrom({ orgId, keySeq }, answer, isRead) {
    if (isRead && !this.#unsent.hasRoom(orgId, keySeq, pieceBytes))
      throw unread();
    let heldBytes = 0;
    const hold = (bytes) => {
      if (bytes <= heldBytes)
        return;
      this.#unsent.take(orgId, keySeq, bytes - heldBytes);
      heldBytes = bytes;
    };
    const release = () => {
      this.#unsent.give(orgId, keySeq, heldBytes);
      heldBytes = 0;
    };
    hold(pieceBytes);
    return sendChunks(answer, pieceBytes, hold, release);
  }
}

// src/http/body.ts
init_errors();
init_limits();

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
var lookEveryMs2 = 1000;
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

class Progress2 {
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
      throw new CubbyError("invalid_json", "The body is not valid UTF-8.", { hint: "Send JSON in UTF-8." });
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
    const progress = new Progress2;
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
    throw new CubbyError("unsupported_media_type", "The body is not declared as application/json.", {
      hint: 'Send "Content-Type: application/json".'
    });
  }
  const encoding = headers.get("content-encoding");
  if (encoding !== null && encoding.toLowerCase() !== "identity") {
    throw new CubbyError("unsupported_media_type", "Compressed bodies are not supported.", {
      hint: "Send the body without Content-Encoding."
    });
  }
};
var refuseBody = (headers) => {
  const length = headers.get("content-length");
  if ((length === null || Number(length) === 0) && !headers.has("transfer-encoding"))
    return;
  refuseOtherTypes(headers);
  throw new CubbyError("invalid_request", "This request takes no body.", {
    hint: "Send it without one; keys go in the path, conditions in If-Match."
  });
};

// src/http/observe.ts
var observed = (observer, place, handler) => {
  if (observer === undefined)
    return handler;
  return async (request, server) => {
    const startedAtMs = performance.now();
    const response = await handler(request, server);
    observer({
      requestId: response.headers.get("x-request-id"),
      operation: place.operationOf(request.method),
      method: request.method,
      path: shownPath(place.path, request),
      status: response.status,
      ms: Math.round((performance.now() - startedAtMs) * 100) / 100
    });
    return response;
  };
};
var logAnswered = (log) => ({ requestId, method, path, status, ms }) => log("info", "request", { requestId, method, path, status, ms });
var pathOf = (url) => url.replace(/^[a-z]+:\/\/[^/]*/i, "").split("?", 1)[0];
var shownPath = (path, { url, params }) => path === undefined ? pathOf(url) : path.replace(/:(\w+)/g, (_, name) => encodeURIComponent(params[name].toWellFormed()));

// src/http/request-exchange.ts
init_limits();
class RequestExchange {
  request;
  params;
  requestId;
  route;
  shared;
  access;
  nowMs = 0;
  heldBytes = 0;
  isAdmitted = false;
  constructor(request, params, requestId, route, shared) {
    this.request = request;
    this.params = params;
    this.requestId = requestId;
    this.route = route;
    this.shared = shared;
  }
  get keyNeeded() {
    return this.route.keyNeeded;
  }
  get orgId() {
    return this.access.apiKey.orgId;
  }
  get keySeq() {
    return this.access.apiKey.seq;
  }
  authenticate() {
    return this.shared.authenticator.authenticate(this);
  }
  async readBody(bytesMax) {
    const { bodies, turns } = this.shared;
    const text = await bodies.read(this.request, bytesMax, this);
    if (!turns.isFree)
      await turns.wait(this.orgId, this.keySeq);
    turns.begin(this.orgId, this.keySeq, true);
    await this.authenticate();
    return text;
  }
  readStream(bytesMax) {
    return this.#inTurns(this.shared.bodies.stream(this.request, bytesMax, this));
  }
  async* #inTurns(chunks) {
    for await (const chunk of chunks) {
      await this.#turn();
      yield chunk;
    }
    await this.#turn();
    await this.authenticate();
  }
  async#turn() {
    const { turns } = this.shared;
    if (!turns.isFree)
      await turns.wait(this.orgId, this.keySeq);
    turns.begin(this.orgId, this.keySeq, true);
  }
  runSteps(steps) {
    const { turns } = this.shared;
    while (turns.isFree) {
      const step = steps.next();
      if (step.done === true)
        return step.value;
      turns.begin(this.orgId, this.keySeq, true);
    }
    return this.#runInTurns(steps);
  }
  async#runInTurns(steps) {
    for (;; ) {
      await this.#turn();
      const step = steps.next();
      if (step.done === true)
        return step.value;
    }
  }
  bodyOf(text) {
    const { request, shared } = this;
    if (request.method === "HEAD")
      return text;
    const stream = shared.answers.stream(this, text, this.keyNeeded === "read", () => shared.setIdleTimeout(request, connectionIdleSecondsMax));
    if (stream === undefined)
      return text;
    shared.setIdleTimeout(request, answerIdleSecondsMax);
    return stream;
  }
  streamOf(chunks, bytes) {
    const { request, requestId, shared } = this;
    if (request.method === "HEAD") {
      discardChunks(chunks);
      return bytes === undefined ? new ReadableStream : null;
    }
    const waitForUs = () => shared.setIdleTimeout(request, connectionIdleSecondsMax);
    const answer = {
      chunks,
      bytes,
      turn: () => this.#turn(),
      onWaiting: waitForUs,
      onSending: () => shared.setIdleTimeout(request, answerIdleSecondsMax),
      onEnd: waitForUs,
      onFault: (error) => shared.log("error", "answer cut off", { requestId, cause: causeOf2(error) })
    };
    return shared.answers.streamFrom(this, answer, this.keyNeeded === "read");
  }
}

// src/http/request-id.ts
import { randomBytes as randomBytes3 } from "crypto";
var callersOwn = /^[\x21-\x7e]{1,128}$/;
var prefix = randomBytes3(6).toString("base64url");
var count2 = 0;
var requestIdOf = (headers) => {
  const given = headers.get("x-request-id");
  if (given !== null && callersOwn.test(given))
    return given;
  count2++;
  return `${prefix}-${count2.toString(36)}`;
};

// src/http/handlers/gather.ts
init_errors();
init_limits();
init_record_key();

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
      throw new CubbyError("invalid_request", `${field} is not a query parameter of this request.`, {
        field,
        hint: known.length === 0 ? "It takes none." : `Known parameters: ${known.join(", ")}.`
      });
    }
    if (values[name] !== undefined) {
      throw new CubbyError("invalid_request", `${field} appears twice.`, { field, hint: "Send it once." });
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
    throw new CubbyError("invalid_key", `${field} has a percent-escape that is malformed or not UTF-8.`, {
      field,
      hint: "Percent-encode the UTF-8 bytes of the key once, as encodeURIComponent does."
    });
  }
};
var keyOf2 = ({ params, request }, name) => {
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
    const id = keyOf2(exchange, "id");
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
var recordOf2 = (exchange) => {
  const { params } = exchange;
  return {
    db: parseName(params.db, "db"),
    table: parseName(params.table, "table"),
    hashKey: keyOf2(exchange, "hashKey"),
    rangeKey: params.rangeKey === undefined ? noRangeKey : keyOf2(exchange, "rangeKey")
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
    const input = recordOf2(exchange);
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
    const { db, table, hashKey, rangeKey } = recordOf2(exchange);
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
    const found = await findRecords2(exchange.access, { db, table, keys }, exchange.nowMs);
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
    const page = await listDatabases2(exchange.access, readListing(exchange));
    return respondLongText(exchange, listDatabasesOperation.present(page, exchange.nowMs));
  },
  async listTables(exchange) {
    const db = parseName(exchange.params.db, "db");
    const { limit, cursor, deleted } = parseParameters(exchange.request.url, ["limit", "cursor", "deleted"]);
    refuseConditions(exchange.request.headers);
    const input = { db, deleted: parseFlagParameter(deleted, "deleted"), limit: parseLimitParameter(limit), cursor };
    const page = await listTables2(exchange.access, input, exchange.nowMs);
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
var late = () => new CubbyError("unavailable", "The server is busy; this request waited too long for its turn. Nothing was applied.", {
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

// src/http/pipeline.ts
class Pipeline2 {
  authenticator;
  bodies = new BodyReader;
  turns = new Turns;
  answers = new Answers;
  log;
  setIdleTimeout = () => {};
  #admission = new Admission;
  #observer;
  constructor({ engine, now, log, logRequests, onKeyUse }) {
    this.authenticator = new Authenticator(engine, now, onKeyUse);
    this.log = log;
    this.#observer = logRequests ? logAnswered(log) : undefined;
  }
  stop() {
    this.bodies.stop();
    this.turns.stop();
  }
  handlerFor(path, methods) {
    const allow = allowedMethods(methods);
    const word = literalParameter(path);
    const routeOf = (method) => methods[method === "HEAD" ? "GET" : method];
    const operationOf = (method) => routeOf(method)?.operationId;
    return observed(this.#observer, { path, operationOf }, (request) => {
      const route = routeOf(request.method);
      if (route === undefined)
        return this.#withoutRoute(request, path, allow);
      return this.#answer(this.#identify(request, route, word));
    });
  }
  open(path, operation, answer) {
    const isRead = (method) => method === "GET" || method === "HEAD";
    const operationOf = (method) => isRead(method) ? operation : undefined;
    return observed(this.#observer, { path, operationOf }, async (request, server) => {
      if (!isRead(request.method))
        return this.#withoutRoute(request, path, "GET, HEAD, OPTIONS");
      const requestId = requestIdOf(request.headers);
      try {
        return closingIfUnread(request, await answer(requestId, request, server.url.origin));
      } catch (error) {
        return answerError(this.log, requestId, error);
      }
    });
  }
  health(path, operation, check, status) {
    return this.open(path, operation, async (requestId) => {
      const well = await (async () => check())().catch(() => false);
      if (well)
        return respondJson(requestId, { status });
      return respondError(requestId, new CubbyError("unavailable", "The store cannot serve requests now."));
    });
  }
  notFound() {
    return observed(this.#observer, { path: undefined, operationOf: () => {
      return;
    } }, (request) => {
      const requestId = requestIdOf(request.headers);
      if (request.method === "OPTIONS")
        return respondPreflight(requestId);
      const error = new CubbyError("route_not_found", "No route has this path.", {
        hint: lostPathHint(request.method, pathOf(request.url))
      });
      return closingIfUnread(request, respondError(requestId, error));
    });
  }
  #withoutRoute(request, path, allow) {
    const requestId = requestIdOf(request.headers);
    if (request.method === "OPTIONS")
      return respondPreflight(requestId);
    const error = new CubbyError("method_not_allowed", `${request.method} is not a method of this path.`, {
      hint: wrongMethodHint(request.method, path, request.params, allow)
    });
    return closingIfUnread(request, respondError(requestId, error, { allow }));
  }
  #identify(request, route, word) {
    const params = word === undefined ? request.params : { ...request.params, ...word };
    return new RequestExchange(request, params, requestIdOf(request.headers), route, this);
  }
  #answer(exchange) {
    try {
      const authenticated = exchange.authenticate();
      if (authenticated instanceof Promise || this.#mayWait(exchange.route)) {
        return this.#answerLater(exchange, authenticated);
      }
      const response = this.#run(exchange);
      return response instanceof Promise ? this.#answerWhenRun(exchange, response) : closingIfUnread(exchange.request, response);
    } catch (error) {
      return this.#answerError(exchange, error);
    }
  }
  async#answerLater(exchange, authenticated) {
    try {
      if (authenticated instanceof Promise)
        await authenticated;
      this.#admit(exchange);
      if (exchange.route.body !== undefined)
        return await exchange.route.handler(exchange);
      if (!this.turns.isFree) {
        await this.turns.wait(exchange.orgId, exchange.keySeq);
        await exchange.authenticate();
      }
      return await this.#run(exchange);
    } catch (error) {
      return this.#answerError(exchange, error);
    } finally {
      if (exchange.isAdmitted)
        this.#leave(exchange);
    }
  }
  async#answerWhenRun(exchange, response) {
    try {
      return closingIfUnread(exchange.request, await response);
    } catch (error) {
      return this.#answerError(exchange, error);
    }
  }
  #mayWait(route) {
    return route.keyNeeded !== "read" || route.body !== undefined || !this.turns.isFree;
  }
  #admit(exchange) {
    this.#admission.admit(exchange);
    if (exchange.keyNeeded !== "read")
      this.answers.refuseIfFull(exchange.orgId, exchange.keySeq);
  }
  #leave(exchange) {
    this.bodies.release(exchange);
    this.#admission.leave(exchange);
  }
  #run(exchange) {
    this.turns.begin(exchange.orgId, exchange.keySeq);
    try {
      return exchange.route.handler(exchange);
    } finally {
      this.turns.end();
    }
  }
  #answerError(exchange, error) {
    const { request, requestId, route, params } = exchange;
    const hinted = error instanceof CubbyError ? withBetterHint(route.operationId, params, error) : error;
    return closingIfUnread(request, answerError(this.log, requestId, hinted, namesIn(params)));
  }
}

// src/http/server.ts
var untilAnswered = async (server) => {
  while (server.pendingRequests > 0)
    await Bun.sleep(10);
  await Bun.sleep(100);
};
var openHandlersOf = (pipeline, { engine, pages, publicUrl }) => {
  const open = (path, answer) => pipeline.open(path, openRoutes[path], answer);
  return {
    "/": open("/", entryPoint(publicUrl)),
    "/healthz": pipeline.health("/healthz", openRoutes["/healthz"], () => true, "ok"),
    "/readyz": pipeline.health("/readyz", openRoutes["/readyz"], () => engine.ready(), "ready"),
    "/openapi.json": open("/openapi.json", async (id, request) => respondPage(id, request, await pages.document())),
    "/docs": open("/docs", async (id, request) => respondPage(id, request, await pages.docs()))
  };
};
var startHttp = (options) => {
  const pipeline = new Pipeline2(options);
  const handlers = Object.fromEntries(Object.entries(options.routes ?? servedRoutes).map(([path, methods]) => [path, pipeline.handlerFor(path, methods)]));
  const server = Bun.serve({
    hostname: options.host,
    port: options.port,
    reusePort: options.reusePort ?? false,
    development: false,
    idleTimeout: connectionIdleSecondsMax,
    maxRequestBodySize: Number.MAX_SAFE_INTEGER,
    routes: {
      ...handlers,
      ...openHandlersOf(pipeline, options)
    },
    fetch: pipeline.notFound(),
    error: (error) => answerError(options.log, "unknown", error)
  });
  pipeline.setIdleTimeout = (request, seconds) => server.timeout(request, seconds);
  const watch = watchConnections(server, options.log);
  return {
    url: server.url.origin,
    async stop() {
      clearInterval(watch);
      await Promise.race([server.stop(false), untilAnswered(server)]);
      await server.stop(true);
      pipeline.stop();
    },
    cut: () => void server.stop(true)
  };
};

// src/openapi/pages.ts
var pageOf = ({ body, gzipped, version, headers }) => ({
  body: new Blob([body]),
  gzipped: new Blob([gzipped]),
  version,
  headers
});
var makeInThread = (publicUrl) => {
  const thread = new Worker(new URL("./pages-thread.js", import.meta.url).href);
  const [document, docs] = [Promise.withResolvers(), Promise.withResolvers()];
  const end = (fault) => {
    for (const { promise, reject } of [document, docs]) {
      promise.catch(() => {});
      reject(new Error(`the descriptions of the API could not be made: ${fault}`));
    }
    thread.terminate();
  };
  thread.onmessage = ({ data }) => {
    if ("document" in data)
      return document.resolve(pageOf(data.document));
    if ("fault" in data)
      return end(data.fault);
    docs.resolve(pageOf(data.docs));
    thread.terminate();
  };
  thread.onerror = ({ message }) => end(message);
  thread.postMessage({ publicUrl });
  return { document: document.promise, docs: docs.promise };
};
var descriptionPages = (publicUrl) => {
  let made;
  const get = async (name) => {
    made ??= makeInThread(publicUrl);
    try {
      return await made[name];
    } catch (error) {
      made = undefined;
      throw error;
    }
  };
  return { document: () => get("document"), docs: () => get("docs") };
};

// src/process/bootstrap.ts
init_api_key();
var bootstrap = async (engine, ownUrl, options) => {
  const url = options.publicUrl ?? ownUrl;
  const secret = makeApiKey({ kind: "secret" });
  const open = makeApiKey({ kind: "public" });
  const organization = await engine.organizations.bootstrap("default", [secret.kept, open.kept], options.clock.now());
  const greeting = organization === undefined ? await laterGreeting(engine, url, options.storeFlags) : firstGreeting(url, secret.text, open.text);
  for (const line of greeting.split(`
`))
    options.print(line);
};
var firstGreeting = (url, secretKey, publicKey) => `
Cubby is running. These keys of the organization "default" are shown only once:

  secret key  ${secretKey}  reads and writes: keep it on your server
  public key  ${publicKey}   reads only: for browsers

Create a table, put a record into it, and read it:

  export CUBBY_URL=${shellWord(url)} CUBBY_KEY=${secretKey}
  curl -X POST $CUBBY_URL/v1/app/notes -H "Authorization: Bearer $CUBBY_KEY"
  curl -X PUT $CUBBY_URL/v1/app/notes -H "Authorization: Bearer $CUBBY_KEY" -H 'Content-Type: application/json' -d '{"hashKey":"first","data":{"text":"hello"}}'
  curl $CUBBY_URL/v1/app/notes/first -H "Authorization: Bearer $CUBBY_KEY"

The API is documented at ${url}/docs
`;
var laterGreeting = async (engine, url, storeFlags) => {
  const name = await engine.organizations.find("default") === undefined ? "NAME" : "default";
  const command = ["npx cubbydb keys create --org", name, "--kind secret", storeFlags].join(" ").trimEnd();
  return `The API is documented at ${url}/docs
To create another API key: ${command}`;
};

// src/process/listen.ts
init_operator_error();
var listenFailure = (error, host, port) => {
  const code = error.code;
  if (code === "EADDRINUSE") {
    return new OperatorError(`port ${port} on ${host} is taken; stop the process that listens there or give another --port`);
  }
  if (code === "EACCES")
    return new OperatorError(`this user may not open port ${port} on ${host}`);
  if (code === "ENOENT" || code === "ENOTFOUND" || code === "EADDRNOTAVAIL") {
    return new OperatorError(`${host} is not an address of this machine; give another --host`);
  }
  return new OperatorError(`cannot listen on ${host}:${port}: ${error.message}`);
};
var reservePort = (host, port) => {
  try {
    const probe = Bun.listen({ hostname: host, port, socket: { data() {} } });
    const free = probe.port;
    probe.stop(true);
    return free;
  } catch (error) {
    throw listenFailure(error, host, port);
  }
};
var urlOf = (host, port) => `http://${host.includes(":") ? `[${host}]` : host}:${port}`;

// src/process/owner.ts
init_limits();
init_operator_error();

// src/process/signals.ts
var untilSignal = () => new Promise((done) => {
  for (const signal of ["SIGTERM", "SIGINT"])
    process.once(signal, () => done(signal));
  if (isBelowNpx())
    whenParentEnds(() => done("npx ended"));
});
var parentEveryMs = 500;
var isBelowNpx = () => {
  const { npm_lifecycle_event: event, npm_lifecycle_script: script = "" } = process.env;
  return event === "npx" && /^'?cubby(db)?'?( |$)/.test(script);
};
var whenParentEnds = (ended) => {
  const parent = process.ppid;
  const timer = setInterval(() => {
    if (process.ppid === parent)
      return;
    clearInterval(timer);
    ended();
  }, parentEveryMs);
  timer.unref();
};
var ignoreSignals = () => {
  for (const signal of ["SIGTERM", "SIGINT"])
    process.on(signal, () => {});
};
var stayUp = (log) => {
  process.on("uncaughtException", (error) => log("error", "uncaught", { cause: error.stack ?? String(error) }));
  process.on("unhandledRejection", (reason) => log("error", "unhandled", { cause: String(reason) }));
};
var stopWithin = async (ms, http) => {
  const timer = setTimeout(() => http.cut(), ms);
  await http.stop();
  clearTimeout(timer);
};

// src/process/worker-messages.ts
var portVariable = "CUBBY_WORKER_PORT";

// src/process/owner.ts
var startMsMax2 = 1e4;
var respawnAfterMs = 1000;
var restOfStopMs = 1500;

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
  async start() {
    await Promise.all(Array.from({ length: this.#options.workers }, () => this.#spawn()));
  }
  #spawn() {
    return new Promise((ready, failed) => {
      const timer = setTimeout(() => worker.kill("SIGKILL"), startMsMax2);
      let receive = () => {};
      const worker = Bun.spawn([process.execPath, ...process.execArgv, Bun.main, ...process.argv.slice(2)], {
        env: { ...process.env, [portVariable]: String(this.#port) },
        stdio: ["ignore", "inherit", "inherit"],
        ipc: (message) => {
          if ("engine" in message)
            return receive(message.engine);
          clearTimeout(timer);
          ready();
        },
        onExit: (_, code, signal) => {
          clearTimeout(timer);
          failed(new OperatorError("a worker could not be started"));
          this.#onExit(worker, code ?? signal);
        }
      });
      this.#running.add(worker);
      this.#engine.serveWorker?.({
        send: (message) => {
          if (this.#running.has(worker))
            worker.send({ engine: message });
        },
        onMessage: (use) => {
          receive = use;
        },
        onClose: () => {}
      });
    });
  }
  #onExit(worker, reason) {
    this.#running.delete(worker);
    if (this.#stopping)
      return;
    const { store, log } = this.#options;
    log("error", "a worker ended; starting another", { reason, hint: store.workerExitHint(reason) });
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
    }, stopMsMax - restOfStopMs);
    await Promise.all(workers.map((worker) => worker.exited));
    clearTimeout(timer);
  }
}
var serveWithWorkers = async (options) => {
  const { store, host, clock, log } = options;
  let workers;
  const engine = await store.open({ role: "owner", log, drain: async () => workers?.stop() });
  let port;
  try {
    port = reservePort(host, options.port);
  } catch (error) {
    await engine.close();
    throw error;
  }
  workers = new Workers(options, port, engine);
  stayUp(log);
  const signal = untilSignal();
  try {
    await workers.start();
  } catch (error) {
    await workers.stop();
    await engine.close();
    throw error;
  }
  const { now, jumpHoldMs, sweepEveryMs: everyMs } = clock;
  const sweeps = startSweeps({ maintenance: engine.maintenance, now, log, jumpHoldMs, everyMs });
  const checksums = startChecksums({ maintenance: engine.maintenance, log, retryMs: everyMs });
  const url = urlOf(host, port);
  log("info", "listening", { url, engine: engine.description, data: store.describe(), workers: options.workers });
  if (options.bootstrap)
    await bootstrap(engine, url, options);
  log("info", "stopping", { signal: await signal });
  await workers.stop();
  await sweeps.stop();
  await checksums.stop();
  await engine.close();
  log("info", "stopped");
  return 0;
};

// src/process/worker.ts
init_limits();
var isWorker = () => process.env[portVariable] !== undefined && process.send !== undefined;
var send2 = (message) => void process.send(message);
var channelToOwner = {
  send: (message) => send2({ engine: message }),
  onMessage: (receive) => process.on("message", (message) => ("engine" in message) && receive(message.engine)),
  onClose: (closed) => process.on("disconnect", closed)
};
var restOfStopMs2 = 2500;
var serveAsWorker = async (options) => {
  const { store, host, publicUrl, clock, log, logRequests } = options;
  ignoreSignals();
  const stopped = new Promise((stop) => process.on("message", (message) => ("stop" in message) && stop()));
  stayUp(log);
  const engine = await store.openWorker(channelToOwner, log);
  const keyUse = startKeyUse(engine.apiKeys, log, clock.keyUseEveryMs);
  const http = startHttp({
    engine,
    host,
    port: Number(process.env[portVariable]),
    publicUrl,
    reusePort: true,
    now: clock.now,
    log,
    logRequests,
    pages: descriptionPages(publicUrl),
    onKeyUse: keyUse.note
  });
  send2({ ready: true });
  await stopped;
  await stopWithin(stopMsMax - restOfStopMs2, http);
  await keyUse.stop();
  await engine.close();
  return 0;
};

// src/process/serve.ts
var serve = (options) => {
  if (isWorker())
    return serveAsWorker(options);
  return options.workers > 1 ? serveWithWorkers(options) : serveAlone(options);
};
var restOfStopMs3 = 1500;
var serveAlone = async (options) => {
  const { store, host, port, publicUrl, clock, log, logRequests } = options;
  let http;
  const engine = await store.open({ role: "owner", log, drain: async () => http?.stop() });
  const keyUse = startKeyUse(engine.apiKeys, log, clock.keyUseEveryMs);
  try {
    http = startHttp({
      engine,
      host,
      port,
      publicUrl,
      now: clock.now,
      log,
      logRequests,
      pages: descriptionPages(publicUrl),
      onKeyUse: keyUse.note
    });
  } catch (error) {
    await engine.close();
    throw listenFailure(error, host, port);
  }
  const { now, jumpHoldMs, sweepEveryMs: everyMs } = clock;
  const sweeps = startSweeps({ maintenance: engine.maintenance, now, log, jumpHoldMs, everyMs });
  const checksums = startChecksums({ maintenance: engine.maintenance, log, retryMs: everyMs });
  stayUp(log);
  const signal = untilSignal();
  log("info", "listening", { url: http.url, engine: engine.description, data: store.describe() });
  if (options.bootstrap)
    await bootstrap(engine, http.url, options);
  log("info", "stopping", { signal: await signal });
  await stopWithin(stopMsMax - restOfStopMs3, http);
  await sweeps.stop();
  await checksums.stop();
  await keyUse.stop();
  await engine.close();
  log("info", "stopped");
  return 0;
};

// src/cli/commands/serve.ts
init_arguments();

// src/cli/public-url.ts
init_arguments();
var publicUrlFlag = {
  type: "string",
  value: "URL",
  help: "the address at which callers reach the server, behind a proxy"
};
var parsePublicUrl = (text) => {
  if (text === undefined)
    return;
  const url = /^https?:\/\//i.test(text) ? URL.parse(text) : null;
  const isPlain = url !== null && url.username === "" && url.password === "" && !/[?#]/.test(text);
  const address = url?.href.replace(/\/+$/, "");
  if (isPlain && address.lastIndexOf("//") === address.indexOf("//"))
    return address;
  const shown = url?.password ? "" : ` is "${text}"; it`;
  throw new UsageError(`--public-url${shown} takes an http or https address without user, query, fragment and empty segments, such as https://cubby.example.com`);
};

// src/cli/commands/serve.ts
var toFlag = (declared) => declared.type === "switch" ? { type: "boolean", help: declared.help } : { type: "string", value: declared.value, help: declared.help, default: String(declared.default) };
var serveCommand = {
  name: "serve",
  summary: "run the server",
  details: `The first start on an empty store creates the organization "default" with a secret and a public key and
prints both, only once. Later starts print the command that creates another key. SIGTERM or SIGINT stops
the server after the accepted requests are answered.`,
  flags: {
    ...storeFlags,
    host: { type: "string", value: "H", help: "address to listen on", default: "127.0.0.1" },
    port: { type: "string", value: "P", help: "port to listen on; 0 picks a free one", default: "4600" },
    "public-url": publicUrlFlag,
    workers: { type: "string", value: "N", help: "processes that serve the port", default: "1" },
    ...Object.fromEntries(Object.entries(engineFlags).map(([name, declared]) => [name, toFlag(declared)])),
    "no-bootstrap": { type: "boolean", help: "create no organization on an empty store" },
    log: { type: "string", value: "WHAT", help: '"requests" logs a line for every request' }
  },
  async run(args) {
    const location = storeLocation(args);
    const options = {
      host: args.text("host"),
      port: parseCount(args, "port", 0, 65535),
      publicUrl: parsePublicUrl(args.text("public-url")),
      workers: parseCount(args, "workers", 1, 256),
      bootstrap: !args.flag("no-bootstrap"),
      logRequests: parseLog(args.text("log")),
      clock: openClock(process.env)
    };
    const settings = parseEngineSettings(args);
    const log = createLogger();
    if (location.store === undefined && args.text("store") !== undefined && !isWorker()) {
      log("warn", "CUBBY_STORE is not used: --data is given");
    }
    const store = await findStore(location, settings);
    return serve({ ...options, store, storeFlags: sameStoreFlags(args), log, print: printLine });
  }
};
var parseEngineSettings = (args) => readEngineSettings({
  count(flag) {
    const declared = engineFlags[flag];
    return parseCount(args, flag, declared.min, declared.max);
  },
  isSet: (flag) => args.flag(flag),
  testVariable: (name) => testVariable(process.env, name)
});
var parseLog = (text) => {
  if (text === undefined || text === "requests")
    return text === "requests";
  throw new UsageError(`--log is "${text}"; it takes "requests"`);
};

// src/cli/commands/table.ts
init_limits();
init_indices();
init_arguments();
var tablePath = (args) => `/v1/${requireName(args, "db")}/${checkName(args.positionals[0], "NAME")}`;
var slotFlag = {
  type: "string",
  value: "FIELDS",
  help: "an index: its hash field, or its hash and range field: hash,range"
};
var tableCreateCommand = {
  name: "table create",
  positionals: ["NAME"],
  summary: summaryOf(createTableOperation),
  details: `Indices cannot be changed later. --i1 status,placedAt declares the index i1 with the hash field status and the
range field placedAt; --indices takes the JSON of the HTTP API, for field names with a comma. If the table
exists with the same indices, it is printed and not changed.`,
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
    throw new UsageError(`--indices and --${bySlot[0]} cannot be combined`);
  if (json !== undefined)
    return orUsageError(() => parseIndices(parseJsonFlag(json)));
  const declared = bySlot.map((slot) => {
    const [hashField, rangeField, ...more] = args.text(slot).split(",");
    if (more.length > 0)
      throw new UsageError(`--${slot} takes one field, or two separated by a comma`);
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
  summary: summaryOf(listTablesOperation),
  details: "The tables of one database, one per line.",
  flags: {
    db: dbFlag,
    deleted: { type: "boolean", help: "list the deleted tables that can still be restored" },
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
  summary: summaryOf(describeTableOperation),
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
  summary: summaryOf(deleteTableOperation),
  details: "Restore it, with all its records, with cubby table restore.",
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
  summary: summaryOf(restoreTableOperation),
  details: "A table can be restored for 7 days after it was deleted.",
  flags: {
    db: dbFlag,
    "deleted-at": {
      type: "string",
      value: "MS",
      help: "its deletedAt in epoch milliseconds; default: the table deleted last"
    },
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

// src/cli/commands/verify.ts
init_store_refused();
init_arguments();
var nextStep = "Keep a copy of the data as it is, then restore the last good backup. Until then a running server serves the undamaged data.";
var verifyCommand = {
  name: "verify",
  summary: "check the store for damage: checksums of all records, and all index entries",
  details: `Exit 0 and one line if the store is sound. Otherwise exit 1, one line per finding on standard output, and on
standard error the damaged tables and what to do. Works beside a running server.`,
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
  let unchecked = 0;
  const notes = {
    table: (id) => tableIds.add(id),
    uncheckedRows: (count) => {
      unchecked = count;
    }
  };
  for await (const finding of engine.maintenance.check(notes)) {
    findings.push(finding);
    if (!args.flag("json"))
      printLine(finding);
  }
  return report2(args, findings, tableIds.size === 0 ? [] : await nameTables(engine, tableIds), unchecked);
};
var report2 = async (args, findings, tables, unchecked = 0) => {
  const place = (await findTargetStore(args)).describe();
  const ok = findings.length === 0;
  if (args.flag("json")) {
    const counted = unchecked === 0 ? {} : { unchecked };
    printJson({ ok, findings, ...counted, ...ok ? {} : { summary: { tables, next: nextStep } } });
  } else if (ok) {
    const without = unchecked === 0 ? "" : `; ${showCount(unchecked)} of version 0.1 without a checksum yet`;
    printLine(`ok: ${place} is sound${without}`);
  }
  if (!ok) {
    const where = `${showCount(findings.length, "finding")} in ${place}`;
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
    const dump = await engine.transfer.openDump();
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

// src/cli/help.ts
var usage = ({ name, positionals = [] }) => ["cubby", name, ...positionals].join(" ");
var columns = (rows) => {
  const width = Math.max(...rows.map(([left]) => left.length));
  return rows.map(([left, right]) => `  ${left.padEnd(width)}  ${right}
`).join("");
};
var overview = (commands) => `Cubby, a schemaless document store.

${columns(commands.map((command) => [usage(command), command.summary]))}
Each command has --help. Every flag can also be set in the environment: --data as CUBBY_DATA, and so on.
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
${columns(flags)}`;
};

// src/cli/run.ts
init_hint_text();
var commands = [
  serveCommand,
  orgsCreateCommand,
  orgsListCommand,
  keysCreateCommand,
  keysListCommand,
  keysRevokeCommand,
  verifyCommand,
  dbListCommand,
  tableCreateCommand,
  tableListCommand,
  tableDescribeCommand,
  tableDropCommand,
  tableRestoreCommand,
  getCommand,
  putCommand,
  deleteCommand,
  queryCommand,
  copyCommand,
  exportCommand,
  importCommand,
  backupCreateCommand,
  backupRestoreCommand
];
var findCommand = (words) => commands.find(({ name }) => name.split(" ").every((word, i) => words[i] === word));
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
    return await command.run(parseArguments(command, words.slice(command.name.split(" ").length), env));
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
  if (error instanceof OperatorError)
    say(error.message);
  else if (error instanceof CubbyError)
    say(errorLine(error));
  else
    say(error.message ?? String(error));
  return 1;
};

// src/main.ts
process.exit(await run(process.argv.slice(2), process.env));
