import { describe, expect, it } from "@effect/vitest"
import { Effect, FileSystem, Latch, Logger, Path, PlatformError } from "effect"
import * as fc from "fast-check"
import * as LineFile from "../../../../src/ops/telemetry/logs/LineFile.ts"

const lines = fc.array(fc.uint8Array({ minLength: 1, maxLength: 50 }))

describe("a file of lines", () => {
  it("becomes the newest of the older files, whose numbers each grow by one", () => {
    expect(LineFile.rotation("/r", 3)).toEqual([
      ["/r.2", "/r.3"],
      ["/r.1", "/r.2"],
      ["/r", "/r.1"]
    ])
    expect(LineFile.rotation("/r", 0)).toEqual([])
  })

  it("is never larger than the limit, unless a single line is larger", () => {
    fc.assert(
      fc.property(lines, fc.nat({ max: 200 }), fc.integer({ min: 1, max: 200 }), (lines, size, maxBytes) => {
        const [first = [], ...rest] = LineFile.divide(lines, size, maxBytes)
        expect([...first, ...rest.flat()]).toEqual(lines)
        const bytes = (file: ReadonlyArray<Uint8Array>) => file.reduce((sum, { length }) => sum + length, 0)
        if (size > 0 && first.length > 0) expect(size + bytes(first)).toBeLessThanOrEqual(maxBytes)
        if (size === 0) expect(first.length <= 1 || bytes(first) <= maxBytes).toBe(true)
        if (size === 0 && lines.length > 0) expect(first.length).toBeGreaterThan(0)
        for (const file of rest) expect(file.length === 1 || bytes(file) <= maxBytes).toBe(true)
      })
    )
  })

  it.effect("LineFile.F1: takes as many lines as may wait, and logs how many it dropped", () => {
    const said: Array<string> = []
    return Effect.gen(function* () {
      const hangs = yield* Latch.make(false)
      let written = 0
      const files = FileSystem.makeNoop({
        makeDirectory: () => hangs.await,
        stat: () => Effect.fail(PlatformError.systemError({ _tag: "NotFound", module: "FileSystem", method: "stat" })),
        writeFile: (_path, data) =>
          Effect.sync(() => {
            written += new TextDecoder().decode(data).split("\n").length - 1
          })
      })
      const write = yield* LineFile.make({ path: "/log/r", maxBytes: 1_000_000, keep: 1 }).pipe(
        Effect.provideService(FileSystem.FileSystem, files)
      )
      write("taken by the disk that hangs")
      yield* Effect.yieldNow
      yield* Effect.yieldNow
      for (let n = 0; n < LineFile.MOST_WAITING + 2; n++) write("x")
      yield* hangs.open
      yield* Effect.repeat(Effect.yieldNow, { until: () => written === 1 + LineFile.MOST_WAITING })
      expect(said).toEqual(["Warn The retry log at /log/r is written again; 2 line(s) are missing."])
      write("one more")
      yield* Effect.repeat(Effect.yieldNow, { until: () => written === 2 + LineFile.MOST_WAITING })
    }).pipe(
      Effect.scoped,
      Effect.provide(Path.layer),
      Effect.provide(
        Logger.layer([Logger.make(({ logLevel, message }) => void said.push(`${logLevel} ${String(message)}`))])
      )
    )
  })
})
