import { describe, expect } from "@effect/vitest"
import { Cause, Effect, Layer, Redacted } from "effect"
import * as SafeLogger from "../../../src/config/redaction/SafeLogger.ts"
import * as Secrets from "../../../src/config/redaction/Secrets.ts"
import * as It from "../../It.ts"

const SECRET = 'planted/secret "1"'

const logged = Effect.fnUntraced(function* (format: SafeLogger.LogFormat, effect: Effect.Effect<unknown>) {
  const lines: Array<string> = []
  const logger = SafeLogger.layer({ format, colors: false, write: (line) => lines.push(line) })
  yield* Effect.provide(
    effect,
    Layer.provide(logger, Layer.succeed(Secrets.Secrets, Secrets.make([Redacted.make(SECRET)])))
  )
  return lines.join("")
})

const everywhere = Effect.logError(
  `in the message ${SECRET}`,
  { nested: [SECRET], error: new Error(SECRET) },
  Cause.fail(new Error(`in the cause ${SECRET}`, { cause: new Error(SECRET) }))
).pipe(
  Effect.annotateLogs({ annotation: SECRET, object: { deep: SECRET } }),
  Effect.withLogSpan(SECRET),
  Effect.annotateLogs(SECRET, 1)
)

describe("SafeLogger", () => {
  for (const format of ["pretty", "json"] as const) {
    It.effect(`no part of a ${format} entry has a secret in it`, function* () {
      const text = yield* logged(format, everywhere)
      expect(text).toContain("in the message [redacted]")
      expect(text).toContain("in the cause [redacted]")
      for (const form of [SECRET, JSON.stringify(SECRET).slice(1, -1), "planted"]) expect(text).not.toContain(form)
    })
  }

  for (const format of ["pretty", "json"] as const) {
    It.effect(`a ${format} entry has no character that reverses a line or moves the cursor`, function* () {
      const text = yield* logged(format, Effect.logWarning("the tool \u202ednes\u2066\u009b31m\u001b[2J failed"))
      expect(text).toContain("dnes")
      for (const character of "\u202e\u2066\u009b\u001b") expect(text).not.toContain(character)
      if (format === "json")
        expect(JSON.parse(text)).toMatchObject({ message: "the tool \u202ednes\u2066\u009b31m\u001b[2J failed" })
    })
  }

  It.effect("an entry of JSON is one line of JSON", function* () {
    const text = yield* logged("json", Effect.andThen(Effect.logInfo("one\ntwo"), everywhere))
    const lines = text.trimEnd().split("\n")
    expect(lines).toHaveLength(2)
    expect(JSON.parse(lines[0] ?? "")).toMatchObject({ level: "INFO", message: "one\ntwo" })
    expect(() => JSON.parse(lines[1] ?? "")).not.toThrow()
  })

  It.effect("a pretty entry has time, level, message and annotations", function* () {
    const text = yield* logged(
      "pretty",
      Effect.annotateLogs(Effect.logWarning("the disk is slow", 12), { turnId: "t1" })
    )
    expect(text).toBe("00:00:00 WARN the disk is slow 12 turnId=t1\n")
  })

  It.effect("text from outside moves no cursor, sets no title and changes no colour in a pretty entry", function* () {
    const said = "\u001b]0;a title\u0007\u001b[31mred\u001b[2J\rover \u009b1A and so on"
    const text = yield* logged("pretty", Effect.annotateLogs(Effect.logWarning(`it said: ${said}`), { also: said }))
    expect(text).toMatch(/^00:00:00 WARN it said: .*red.*and so on also=.*and so on\n$/)
    // oxlint-disable-next-line no-control-regex -- they are what must not be there.
    expect(text.trimEnd()).not.toMatch(/[\u0000-\u001f\u007f-\u009f]/)
  })

  It.effect("a secret with a control character in it is redacted all the same", function* () {
    const lines: Array<string> = []
    const logger = SafeLogger.layer({ format: "pretty", colors: false, write: (line) => lines.push(line) })
    const secrets = Layer.succeed(Secrets.Secrets, Secrets.make([Redacted.make("first half\r\nsecond half")]))
    const entry = Effect.logError("-----first half\r\nsecond half-----")
    yield* Effect.provide(entry, Layer.provide(logger, secrets))
    expect(lines.join("")).toBe("00:00:00 ERROR -----[redacted]-----\n")
  })
})
