// @bun
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

// src/engines/sqlite/checkpoint-thread.ts
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
  } else if ("copy" in message) {
    if (faults !== undefined)
      faultPoint(faults, "copy");
    reply({ copied: true, fault: db.checkpoint() });
  } else {
    db?.close();
    reply({ closed: true });
  }
};
