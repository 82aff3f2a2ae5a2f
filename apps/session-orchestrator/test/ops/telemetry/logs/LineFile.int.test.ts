/** Tests the retry log's file on a real disk. */
import { TemporaryFile } from "@holdfast/journal/testing"
import { NodeServices } from "@effect/platform-node"
import { assert, describe, it } from "@effect/vitest"
import { Effect, Exit, Schedule, Scope } from "effect"
import * as fs from "node:fs"
import * as path from "node:path"
import * as It from "../../../It.ts"
import * as LineFile from "../../../../src/ops/telemetry/logs/LineFile.ts"

const read = (file: string): string => (fs.existsSync(file) ? fs.readFileSync(file, "utf8") : "")

/** Waits until a condition holds. */
const until = (isThere: () => boolean, what: string) =>
  Effect.suspend(() => (isThere() ? Effect.void : Effect.fail(new Error(`there is never ${what}`)))).pipe(
    Effect.retry(Schedule.spaced("10 millis"))
  )

describe("a file of lines on a disk", () => {
  It.within(NodeServices.layer, it.live)(
    "rule M4: has every line in order over all its files, is readable by its user alone, keeps the limit",
    function* () {
      const file = path.join(path.dirname(yield* TemporaryFile.temporaryFile), "retries.jsonl")
      const scope = yield* Scope.make()
      const write = yield* LineFile.make({ path: file, maxBytes: 1_000, keep: 2 }).pipe(Scope.provide(scope))
      const line = (n: number) => JSON.stringify({ n, pad: "x".repeat(80) })
      for (let n = 0; n < 25; n++) write(line(n))
      yield* until(() => read(file).includes('"n":24'), "the last line")
      yield* Scope.close(scope, Exit.void)
      const files = fs.readdirSync(path.dirname(file)).sort().join()
      assert.strictEqual(files, "retries.jsonl,retries.jsonl.1,retries.jsonl.2")
      const all = [`${file}.2`, `${file}.1`, file].map(read).join("")
      const lines = Array.from({ length: 25 }, (_, n) => line(n))
      assert.deepStrictEqual(all.trim().split("\n"), lines)
      for (const name of [file, `${file}.1`]) {
        assert.isAtMost(fs.statSync(name).size, 1_000)
        assert.strictEqual(fs.statSync(name).mode & 0o777, 0o600)
      }
    }
  )
})
