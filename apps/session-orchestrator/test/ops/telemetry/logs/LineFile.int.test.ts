/** Tests the retry log's file on a real disk. */
import { TemporaryFile } from "@holdfast/journal/testing"
import { NodeServices } from "@effect/platform-node"
import { assert, describe, it } from "@effect/vitest"
import { Effect, Exit, Logger, Schedule, Scope } from "effect"
import * as fs from "node:fs"
import * as path from "node:path"
import * as LineFile from "../../../../src/ops/telemetry/logs/LineFile.ts"
import * as SmallDisk from "../../../service/SmallDisk.ts"

const read = (file: string): string => (fs.existsSync(file) ? fs.readFileSync(file, "utf8") : "")

/** Waits a short time until a condition holds. */
const until = (isThere: () => boolean, what: string) =>
  Effect.suspend(() => (isThere() ? Effect.void : Effect.fail(new Error(`there is never ${what}`)))).pipe(
    Effect.retry(Schedule.spaced("10 millis")),
    Effect.timeout("90 seconds")
  )

describe("a file of lines on a disk", () => {
  it.live(
    "rule M4: has every line in order over all its files, is readable by its user alone, and keeps the limit",
    () =>
      Effect.gen(function* () {
        const file = path.join(path.dirname(yield* TemporaryFile.temporaryFile), "retries.jsonl")
        const scope = yield* Scope.make()
        const write = yield* LineFile.make({ path: file, maxBytes: 1_000, keep: 2 }).pipe(Scope.provide(scope))
        const line = (n: number) => JSON.stringify({ n, pad: "x".repeat(80) })
        for (let n = 0; n < 25; n++) write(line(n))
        yield* until(() => read(file).includes('"n":24'), "the last line")
        yield* Scope.close(scope, Exit.void)
        assert.deepStrictEqual(fs.readdirSync(path.dirname(file)).sort(), [
          "retries.jsonl",
          "retries.jsonl.1",
          "retries.jsonl.2"
        ])
        const all = [`${file}.2`, `${file}.1`, file].map(read).join("")
        assert.deepStrictEqual(
          all.trim().split("\n"),
          Array.from({ length: 25 }, (_, n) => line(n))
        )
        for (const name of [file, `${file}.1`]) {
          assert.isAtMost(fs.statSync(name).size, 1_000)
          assert.strictEqual(fs.statSync(name).mode & 0o777, 0o600)
        }
      }).pipe(Effect.provide(NodeServices.layer))
  )

  it.live("appends to the file of an earlier process, and drops the oldest", () =>
    Effect.gen(function* () {
      const file = yield* TemporaryFile.temporaryFile
      fs.mkdirSync(path.dirname(file), { recursive: true })
      fs.writeFileSync(file, "o".repeat(999))
      fs.writeFileSync(`${file}.1`, "older")
      yield* Effect.scoped(Effect.map(LineFile.make({ path: file, maxBytes: 1_000, keep: 1 }), (write) => write("new")))
      assert.strictEqual(read(file), "new\n")
      assert.strictEqual(read(`${file}.1`).length, 999)
    }).pipe(Effect.provide(NodeServices.layer))
  )

  it.live("LineFile.F4: has the lines that were added before the shutdown", () =>
    Effect.gen(function* () {
      const file = yield* TemporaryFile.temporaryFile
      yield* Effect.scoped(
        Effect.map(LineFile.make({ path: file, maxBytes: 1_000, keep: 1 }), (write) => {
          write("one")
          write("two")
        })
      )
      assert.strictEqual(read(file), "one\ntwo\n")
    }).pipe(Effect.provide(NodeServices.layer))
  )

  it.live.skipIf(!SmallDisk.isPossible())(
    "LineFile.F2: logs a full disk once, and once more when there is room again",
    () =>
      Effect.gen(function* () {
        const said: Array<string> = []
        const logger = Logger.layer([
          Logger.make(({ logLevel, message }) => void said.push(`${logLevel} ${String(message)}`))
        ])
        const disk = yield* SmallDisk.make
        const file = path.join(disk.directory, "log", "retries.jsonl")
        yield* Effect.gen(function* () {
          const write = yield* LineFile.make({ path: file, maxBytes: 1_000_000, keep: 1 })
          yield* disk.fill
          for (let n = 0; n < 3; n++) write("x".repeat(8_000))
          yield* until(() => said.length > 0, "an error")
          yield* disk.free
          write("there is room again")
          yield* until(() => said.length > 1, "a word that it works again")
        }).pipe(Effect.scoped, Effect.provide(logger))
        assert.strictEqual(said.length, 2)
        assert.match(said[0] ?? "", /^Error The retry log at .* cannot be written; turns go on without it\. /)
        assert.match(said[1] ?? "", /^Warn The retry log at .* is written again; 3 line\(s\) are missing\.$/)
        assert.strictEqual(read(file), "there is room again\n")
      }).pipe(Effect.provide(NodeServices.layer))
  )
})
