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

// src/engines/sqlite/checkpoint/checkpoint-thread.ts
init_connection();
init_fault_point();
var db;
var faults;
var reply = (message) => self.postMessage(message);
self.onmessage = (event) => {
  const message = event.data;
  if ("open" in message) {
    faults = message.faults;
    if (faults !== undefined)
      faultPoint(faults, "open");
    db = new Connection(message.open, 1024);
    reply({ opened: true });
  } else if ("checkpoint" in message) {
    if (faults !== undefined)
      faultPoint(faults, "copy");
    reply({ checkpointed: true, fault: db.checkpoint() });
  } else {
    db?.close();
    reply({ closed: true });
  }
};
