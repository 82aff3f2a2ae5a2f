import { assert, describe, it } from "@effect/vitest"
import { Effect, FileSystem, Logger, Path, PlatformError } from "effect"
import * as IncidentFile from "../../../src/telemetry/incidents/IncidentFile.ts"
import * as Observations from "../Observations.ts"

const FILE = "/state/incidents.json"

const kept: IncidentFile.Content = {
  version: 1,
  troubles: [
    {
      target: Observations.place.target,
      since: 1,
      isTold: true,
      waitsUntil: 9,
      said: { reason: "overloaded", message: "Overloaded" },
      outcomes: { failed: 1, aborted: 0, elsewhere: 0 },
      endsAt: 12
    }
  ],
  causes: [],
  outgoing: []
}

/** A file on a disk in memory, the calls of that disk, and the log. */
const make = (text?: string, refuses: "NotFound" | "PermissionDenied" = "NotFound") => {
  const steps: Array<string> = []
  const said: Array<string> = []
  const files = new Map(text === undefined ? [] : [[FILE, text]])
  const error = PlatformError.systemError({ _tag: refuses, module: "FileSystem", method: "readFileString" })
  const disk = FileSystem.layerNoop({
    readFileString: (path) =>
      Effect.suspend(() => (files.has(path) ? Effect.succeed(files.get(path) ?? "") : Effect.fail(error))),
    makeDirectory: (path, options) =>
      Effect.sync(() => void steps.push(`makes ${path} ${options?.recursive} ${options?.mode}`)),
    writeFileString: (path, text, options) =>
      Effect.sync(() => {
        steps.push(`writes ${path} ${options?.mode}`)
        files.set(path, text)
      }),
    rename: (from, to) =>
      Effect.sync(() => {
        steps.push(`renames ${from} ${to}`)
        files.set(to, files.get(from) ?? "")
        files.delete(from)
      })
  })
  const logger = Logger.layer([
    Logger.make(({ logLevel, message }) => void said.push(`${logLevel} ${String(message)}`))
  ])
  const use = <A, E>(act: (file: IncidentFile.IncidentFile) => Effect.Effect<A, E>) =>
    Effect.flatMap(IncidentFile.make(FILE), act).pipe(Effect.provide([disk, Path.layer, logger]))
  return { files, said, steps, use }
}

describe("the file of incidents", () => {
  it.effect("has the last content, is replaced as a whole, and is readable by its user alone", () =>
    Effect.gen(function* () {
      const { files, said, steps, use } = make()
      yield* use(({ write }) => write(kept))
      assert.deepStrictEqual(steps, [
        `makes /state true ${0o700}`,
        `writes ${FILE}.new ${0o600}`,
        `renames ${FILE}.new ${FILE}`
      ])
      assert.deepStrictEqual(Array.from(files.keys()), [FILE])
      assert.deepStrictEqual(yield* use(({ read }) => read), kept)
      assert.deepStrictEqual(said, [])
    })
  )

  it.effect("that does not exist is empty, and one that cannot be read is logged and empty too", () =>
    Effect.gen(function* () {
      const none = make()
      assert.deepStrictEqual(yield* none.use(({ read }) => read), IncidentFile.EMPTY)
      assert.deepStrictEqual(none.said, [])
      for (const { said, use } of [make("{"), make('{"version":2}'), make(undefined, "PermissionDenied")]) {
        assert.deepStrictEqual(yield* use(({ read }) => read), IncidentFile.EMPTY)
        assert.deepStrictEqual(said, [`Warn Incidents before this start are unknown: ${FILE} cannot be read.`])
      }
    })
  )

  it.effect("of an older version has no causes", () =>
    Effect.gen(function* () {
      const { use } = make('{"version":1,"troubles":[],"outgoing":[]}')
      assert.deepStrictEqual(yield* use(({ read }) => read), IncidentFile.EMPTY)
    })
  )
})
