/** Tests a file of lines on a disk in memory: its files, and refused writes. */
import { assert, describe, it } from "@effect/vitest"
import { Effect, FileSystem, Latch, Path, PlatformError } from "effect"
import * as fc from "fast-check"
import * as LineFile from "../../../../src/ops/telemetry/logs/LineFile.ts"
import * as It from "../../../It.ts"
import * as Law from "../../../Law.ts"

const failure = (tag: "NotFound" | "Unknown") =>
  PlatformError.systemError({ _tag: tag, module: "FileSystem", method: "any" })

/** A disk, and the calls of it. */
const disk = () => {
  const files = new Map<string, string>()
  const asked: Array<string> = []
  const state = { isFull: false, refuses: new Set<number>(), writes: 0 }
  const rename = (from: string, to: string) =>
    Effect.suspend(() => {
      const text = files.get(from)
      if (text === undefined) return Effect.fail(failure("NotFound"))
      files.delete(from)
      files.set(to, text)
      return Effect.void
    })
  const system = FileSystem.makeNoop({
    makeDirectory: (path, options) =>
      Effect.sync(() => void asked.push(`mkdir ${path} ${options?.mode?.toString(8)} ${options?.recursive}`)),
    stat: (path) =>
      Effect.suspend(() => {
        asked.push(`stat ${path}`)
        const text = files.get(path)
        if (text === undefined) return Effect.fail(failure("NotFound"))
        return Effect.succeed({ size: BigInt(text.length) } as FileSystem.File.Info)
      }),
    rename,
    writeFile: (path, data, options) =>
      Effect.suspend(() => {
        if (state.refuses.has(++state.writes) || state.isFull) return Effect.fail(failure("Unknown"))
        asked.push(`write ${options?.flag} ${options?.mode?.toString(8)}`)
        const before = options?.flag === "a" ? (files.get(path) ?? "") : ""
        files.set(path, before + new TextDecoder().decode(data))
        return Effect.void
      })
  })
  return { files, asked, state, system }
}

/** Runs a test against a log on such a disk; returns the log lines. */
const logging = (
  options: Pick<LineFile.Options, "maxBytes" | "keep">,
  { state, system }: ReturnType<typeof disk>,
  test: It.Body<[write: (...lines: ReadonlyArray<string>) => Effect.Effect<unknown>], never>
) => {
  const { layer, lines } = It.logged()
  return Effect.gen(function* () {
    const write = yield* LineFile.make({ path: "/log/r", ...options })
    const log = (...lines: ReadonlyArray<string>) =>
      Effect.suspend(() => {
        const before = state.writes
        for (const line of lines) write(line)
        return Effect.repeat(Effect.yieldNow, { until: () => state.writes > before })
      })
    yield* Effect.gen(() => test(log))
  }).pipe(
    Effect.scoped,
    Effect.provideService(FileSystem.FileSystem, system),
    Effect.provide(Path.layer),
    Effect.provide(layer),
    Effect.map(() => lines)
  )
}

const line = (n: number): string => `row${n}`

const lines = fc.array(fc.uint8Array({ minLength: 1, maxLength: 50 }))

describe("lines that are divided over files", () => {
  it("go into a new file only if they do not fit any more, and a file has one line at least", () => {
    assert.lengthOf(LineFile.divide([new Uint8Array(9)], 0, 5), 1)
    Law.holds([lines, fc.nat({ max: 200 }), fc.integer({ min: 1, max: 200 })], (lines, size, maxBytes) => {
      const [first = [], ...rest] = LineFile.divide(lines, size, maxBytes)
      assert.deepStrictEqual([...first, ...rest.flat()], lines)
      const bytes = (file: ReadonlyArray<Uint8Array>) => file.reduce((sum, { length }) => sum + length, 0)
      const isFull = (size: number, next: Uint8Array | undefined) => next === undefined || size + next.length > maxBytes
      if (size > 0 && first.length > 0) assert.isAtMost(size + bytes(first), maxBytes)
      if (size === 0) assert.isTrue(first.length <= 1 || bytes(first) <= maxBytes)
      assert.isTrue(isFull(size + bytes(first), rest[0]?.[0]) && (size > 0 || lines.length === 0 || first.length > 0))
      for (const [n, file] of rest.entries()) {
        assert.isTrue(file.length === 1 || bytes(file) <= maxBytes)
        assert.isTrue(file.length > 0 && isFull(bytes(file), rest[n + 1]?.[0]))
      }
    })
  })
})

describe("a file of lines", () => {
  It.effect("is created with its folder for its owner alone, read once, and kept with its older ones", function* () {
    const given = disk()
    const said = yield* logging({ maxBytes: 10, keep: 2 }, given, function* (write) {
      for (let n = 1; n <= 7; n++) yield* write(line(n))
    })
    assert.deepStrictEqual(said, [])
    assert.deepStrictEqual(Object.fromEntries(given.files), {
      "/log/r": "row7\n",
      "/log/r.1": "row5\nrow6\n",
      "/log/r.2": "row3\nrow4\n"
    })
    assert.deepStrictEqual(given.asked.slice(0, 3), ["mkdir /log 700 true", "stat /log/r", "write a 600"])
    assert.deepStrictEqual(new Set(given.asked.slice(2)), new Set(["write a 600"]))
  })

  It.effect("appends to an existing file, and truncates it if no older ones are kept", function* () {
    const given = disk()
    given.files.set("/log/r", "old\n")

    yield* logging({ maxBytes: 10, keep: 0 }, given, function* (write) {
      yield* write(line(1))
      assert.strictEqual(given.files.get("/log/r"), "old\nrow1\n")
      yield* write(line(2), line(3))
      assert.strictEqual(given.files.get("/log/r"), "row2\nrow3\n")
      yield* write(line(4), line(5), line(6))
    })
    assert.deepStrictEqual(Object.fromEntries(given.files), { "/log/r": "row6\n" })
  })

  It.effect("counts the lines of a refused write as missing, and reads its file again", function* () {
    const given = disk()
    given.state.refuses.add(2)
    const said = yield* logging({ maxBytes: 10, keep: 3 }, given, function* (write) {
      yield* write(line(1), line(2), line(3), line(4), line(5))
      yield* write(line(6))
      yield* write(line(7))
    })
    assert.lengthOf(said, 2)
    assert.match(said[0] ?? "", /^Error The retry log at \/log\/r cannot be written; turns go on without it\. /)
    assert.strictEqual(said[1], "Warn The retry log at /log/r is written again; 3 line(s) are missing.")
    const asked = given.asked.filter((asked) => asked === "stat /log/r")
    assert.lengthOf(asked, 2)
    assert.deepStrictEqual(Object.fromEntries(given.files), { "/log/r": "row6\nrow7\n", "/log/r.1": "row1\nrow2\n" })
  })

  It.effect("logs the beginning and the end of each outage of its disk", function* () {
    const given = disk()
    const said = yield* logging({ maxBytes: 100, keep: 1 }, given, function* (write) {
      for (const isFull of [true, true, false, false, true, false]) {
        given.state.isFull = isFull
        yield* write(line(1))
      }
    })
    const again = (lost: number) => `Warn The retry log at /log/r is written again; ${lost} line(s) are missing.`
    const words = said.map((text) => text.replace(/ cannot be written.*/, ""))
    const begun = "Error The retry log at /log/r"
    assert.deepStrictEqual(words, [begun, again(2), begun, again(1)])
  })

  /** Runs a test with such a log, whatever its disk does meanwhile. */
  const writing = (system: FileSystem.FileSystem, maxBytes: number, test: It.Body<[write: (line: string) => void]>) =>
    Effect.gen(function* () {
      const write = yield* LineFile.make({ path: "/log/r", maxBytes, keep: 1 })
      yield* Effect.gen(() => test(write))
    }).pipe(Effect.scoped, Effect.provideService(FileSystem.FileSystem, system), Effect.provide(Path.layer))

  It.effect("LineFile.F1: writes the last lines at a shutdown", function* () {
    const given = disk()
    yield* writing(given.system, 100, function* (write) {
      write(line(1))
      yield* Effect.repeat(Effect.yieldNow, { until: () => given.state.writes > 0 })
      write(line(2))
    })
    assert.strictEqual(given.files.get("/log/r"), "row1\nrow2\n")
  })

  It.effect("LineFile.F1: takes as many lines as may wait, and logs how many it dropped", function* () {
    const given = disk()
    const hangs = yield* Latch.make(false)
    const { layer, lines } = It.logged()
    const written = (count: number) =>
      Effect.repeat(Effect.yieldNow, { until: () => given.files.get("/log/r")?.split("\n").length === count + 1 })
    yield* writing({ ...given.system, makeDirectory: () => hangs.await }, 1_000_000, function* (write) {
      write("taken by the disk that hangs")
      for (let n = 0; n < 2; n++) yield* Effect.yieldNow
      for (let n = 0; n < 10_002; n++) write("x")
      yield* hangs.open
      yield* written(10_001)
      assert.deepStrictEqual(lines, ["Warn The retry log at /log/r is written again; 2 line(s) are missing."])
      write("one more")
      yield* written(10_002)
    }).pipe(Effect.provide(layer))
  })
})
