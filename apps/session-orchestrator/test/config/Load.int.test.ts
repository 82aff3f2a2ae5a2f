import { NodeServices } from "@effect/platform-node"
import { describe, expect } from "@effect/vitest"
import { Simulated } from "@holdfast/simulated"
import { Effect, FileSystem, Path, PlatformError } from "effect"
import type { Environment } from "../../src/config/reading/Environment.ts"
import * as Load from "../../src/config/Load.ts"
import * as It from "../It.ts"

const test = It.within(NodeServices.layer)

/** Loads a file with this text; without a text, a file of this name. */
const load = (text: string | Uint8Array | undefined, environment: Environment = {}) =>
  Effect.gen(function* () {
    const files = yield* FileSystem.FileSystem
    const directory = yield* files.makeTempDirectoryScoped()
    const file = (yield* Path.Path).join(directory, "night.json")
    if (typeof text === "string") yield* files.writeFileString(file, text)
    else if (text !== undefined) yield* files.writeFile(file, text)
    const config = yield* Load.load({ environment, simulated: Simulated }, { config: file })
    return { config, directory }
  }).pipe(Effect.scoped, Effect.provide(NodeServices.layer))

const problemOf = (text: string | undefined) =>
  Effect.map(Effect.flip(load(text)), (error) => ("problems" in error ? error.problems[0] : undefined))

describe("Load", () => {
  It.effect("reads the named file, and its paths are relative to it", function* () {
    const { config, directory } = yield* load('{ "database": { "path": "a/b.db" }, "server": { "port": 1234 } }')
    expect(config.server.port).toBe(1234)
    expect(config.database.path).toBe(`${directory}/a/b.db`)
  })

  It.effect("a named file must exist", function* () {
    expect(yield* problemOf(undefined)).toMatchObject({ message: "there is no such file." })
  })

  test("a file that the environment names must exist", function* () {
    const environment = { HOLDFAST_CONFIG: "/nowhere/at/all.json" }
    const error = yield* Effect.flip(Load.load({ environment, simulated: Simulated }))
    expect(error.message).toBe("/nowhere/at/all.json has a problem.\n  /nowhere/at/all.json: there is no such file.")
  })

  test("the default file need not exist", function* () {
    const config = yield* Load.load({ environment: {}, simulated: Simulated })
    expect(config.file).toBeUndefined()
  })

  It.effect("a default file that exists and cannot be read is a mistake", function* () {
    const files = FileSystem.layerNoop({
      readFileString: () =>
        Effect.fail(
          PlatformError.systemError({ _tag: "PermissionDenied", module: "FileSystem", method: "readFileString" })
        )
    })
    const error = yield* Effect.flip(
      Load.load({ environment: {}, simulated: Simulated }).pipe(
        Effect.provide(files),
        Effect.provide(NodeServices.layer)
      )
    )
    expect(error.message).toContain("it cannot be read: PermissionDenied.")
  })

  It.effect("a file that cannot be read does not hide other problems", function* () {
    const error = yield* Effect.flip(load("{ nonsense", { HOLDFAST_PORT: "x", HOLDFAST_MODEL: "mine/m" }))
    const places = "problems" in error && error.problems.map(({ place }) => place)
    expect(places).toEqual(["line 1, column 3", "HOLDFAST_PORT"])
  })

  It.effect("every problem of the file has the position of its key, one of another source has none", function* () {
    const text = `{
  // A comment moves the text after it.
  "sever": {}, "providers": { "p.q": { "headers": { "a b": "x" } }, },
  "retry": { "schedule": { "type": "steps", "delays": ["1 second", "soon"] } },
  "telemetry": { "notifications": {} }
}`
    const error = yield* Effect.flip(load(text, { HOLDFAST_PORT: "x" }))
    expect(
      "problems" in error && error.problems.map(({ place, position }) => [place, position?.line, position?.column])
    ).toEqual([
      ["sever", 3, 3],
      ['providers["p.q"].type', 3, 31], // Missing: the key around it.
      ['providers["p.q"].headers["a b"]', 3, 53],
      ["retry.schedule.delays[1]", 4, 68],
      ["HOLDFAST_PORT", undefined, undefined],
      ["telemetry.notifications", 5, 18]
    ])
    expect(error.message).toContain("\n  sever (line 3, column 3): unknown key. Did you mean")
  })

  It.effect("an empty file is no configuration, and no mistake", function* () {
    const { config } = yield* load(" \n")
    expect(config.model?.provider).toBe("simulated")
  })

  It.effect("a file of null is a mistake: what it was to hold is gone", function* () {
    const error = yield* Effect.flip(load("null"))
    expect(error.message).toContain("the whole: found null; expected an object.")
  })

  test("a directory is reported as unreadable", function* () {
    const error = yield* Effect.flip(Load.load({ environment: {}, simulated: Simulated }, { config: "/" }))
    expect(error.message).toMatch(/^\/ has a problem\.\n {2}\/: it cannot be read: EISDIR: .*directory.*\.$/)
  })
})
