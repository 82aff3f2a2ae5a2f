/** Tests the published JSON Schema against the service's own checks, with a third-party validator. */
import { describe, expect, it } from "@effect/vitest"
import { Ajv, type AnySchemaObject } from "ajv"
import { Result, Schema } from "effect"
import * as fc from "fast-check"
import { globSync, readFileSync } from "node:fs"
import * as JsonText from "../../src/config/reading/JsonText.ts"
import { PARSE_OPTIONS, ROWS, Settings } from "../../src/config/reading/Settings.ts"
import * as EditorSchema from "../../tools/EditorSchema.ts"
import { example } from "./WholeExample.ts"
import * as Law from "../Law.ts"

const root = new URL("../../../../", import.meta.url).pathname
const file = new URL("../../holdfast.config.schema.json", import.meta.url)
const schema: AnySchemaObject = JSON.parse(readFileSync(file, "utf8"))

const ajv = new Ajv({ strict: true, strictTypes: false, strictTuples: false, strictRequired: false, allErrors: true })
ajv.addVocabulary(["allowComments", "allowTrailingCommas"])
const validate = ajv.compile(schema)
const decode = Schema.decodeUnknownResult(Settings, PARSE_OPTIONS)

const isValid = (value: unknown): boolean => validate(value) === true
const isAccepted = (value: unknown): boolean => Result.isSuccess(decode(value))

/** The examples of pages that are configurations: they have one of its keys. Events and log lines have a `type` too. */
const examples = globSync(["README.md", "docs/**/*.md", "{apps,packages}/*/README.md", "examples/*.md"], { cwd: root })
  .flatMap((path) =>
    Array.from(readFileSync(root + path, "utf8").matchAll(/```jsonc?\n(.*?)```/gs), ([, text]) => ({
      path,
      value: Result.getOrThrow(JsonText.read(text ?? "")).content
    }))
  )
  .filter(
    ({ value }) =>
      !Object.hasOwn(Object(value), "type") &&
      Object.keys(Object(value)).some((key) => Object.hasOwn(Settings.fields, key))
  )

type Path = ReadonlyArray<string | number>

/** Every value in a value, with its path. */
const inside = (value: unknown, path: Path = []): ReadonlyArray<{ readonly path: Path; readonly value: unknown }> => [
  { path, value },
  ...(Array.isArray(value)
    ? value.flatMap((inner, at) => inside(inner, [...path, at]))
    : typeof value === "object" && value !== null
      ? Object.entries(value).flatMap(([key, inner]) => inside(inner, [...path, key]))
      : [])
]

/** A copy with another value at a path. */
const withValue = (value: unknown, [key, ...rest]: Path, replacement: unknown): unknown => {
  if (key === undefined) return replacement
  if (Array.isArray(value)) return value.map((inner, at) => (at === key ? withValue(inner, rest, replacement) : inner))
  return Object.fromEntries(
    Object.entries(Object(value)).map(([name, inner]) => [
      name,
      name === key ? withValue(inner, rest, replacement) : inner
    ])
  )
}

/** These keys contain JSON of another kind: fields of requests, options of packages, and the schema of a report. */
const isFree = (path: Path): boolean =>
  path.some((key, at) => key === "body" || key === "options" || (key === "schema" && path[at - 1] === "finalReport"))

/** Objects whose keys are names that a person chooses. */
const NAMES = new Set("providers models prices systemPrompts tools retry.reasons retry.routing.chains".split(" "))
const isNames = (path: Path): boolean => NAMES.has(path.join(".")) || ["headers", "env"].includes(String(path.at(-1)))

const wrongTypesFor = (value: unknown): ReadonlyArray<unknown> => {
  switch (typeof value) {
    case "string":
      return [7, true, null, { a: 1 }]
    case "number":
      return ["seven", true, null, [1]]
    case "boolean":
      return ["yes", 1, null, {}]
    default:
      return [7, null, Array.isArray(value) ? { a: 1 } : "text"]
  }
}

/** Every way to break a valid configuration in one place, each with a name. */
const broken = (sound: unknown): ReadonlyArray<{ readonly name: string; readonly value: unknown }> =>
  inside(sound).flatMap(({ path, value }) => {
    if (isFree(path.slice(0, -1))) return []
    const place = path.join(".") || "the whole"
    const types = wrongTypesFor(value).map((wrong) => ({
      name: `${place} is ${JSON.stringify(wrong)}`,
      value: withValue(sound, path, wrong)
    }))
    const isSection = typeof value === "object" && value !== null && !Array.isArray(value)
    const unknown =
      isSection && !isNames(path) && !isFree(path)
        ? [{ name: `${place} has an unknown key`, value: withValue(sound, path, { ...value, unknown: 1 }) }]
        : []
    return [...types, ...unknown]
  })

/** The least and the largest, and texts of each form. */
const IN_RANGE: Readonly<Record<string, ReadonlyArray<unknown>>> = {
  "server.port": [0, 1, 65_535],
  "server.token": ["x".repeat(16)],
  "cluster.shards": [1, 10_000],
  "cluster.runner": ["h:1", "10.0.0.5:65535", "[::1]:4748"],
  "providers.gateway.limits": [{ calls: 1 }, { requestsPerMinute: 1 }, { tokensPerMinute: 1 }],
  "providers.gateway.maxTokens": [1],
  tools: ["a", "A1_-", "a".repeat(32)].map((name) => ({ [name]: { command: "a" } })),
  "tools.files.maxOutput": [1_024, 1_048_576],
  "telemetry.retryLog.maxBytes": [1_000],
  "telemetry.retryLog.keep": [0, 1_000]
}

/** Numbers and texts just beyond their range, one for each constraint of the page. */
const OUT_OF_RANGE: Readonly<Record<string, ReadonlyArray<unknown>>> = {
  "server.host": [" "],
  "server.port": [-1, 65_536, 1.5],
  "server.hostnames.0": ["a:80"],
  "server.allowedOrigins.0": ["*", "https://app.example.org/"],
  "server.token": ["x".repeat(15)],
  "database.retention": ["-1 days", "30"],
  "database.url": ["mysql://a/b"],
  "cluster.runner": ["10.0.0.5", "h:", ":1", "h:123456", "[x]:1"],
  "cluster.shards": [0, 10_001, 1.5],
  "providers.gateway.type": ["vertex"],
  "providers.gateway.baseUrl": ["gateway.example.org"],
  "providers.gateway.apiKeyEnv.0": ["sk-key"],
  "providers.gateway.headers": [{ "a b": "x" }, { a: "x\ny" }],
  "providers.gateway.body": [{ stream: false }],
  "providers.gateway.maxTokens": [0],
  "providers.gateway.limits.calls": [0],
  "providers.gateway.limits": [{ requestsPerMinute: 0 }, { tokensPerMinute: 0 }],
  providers: [{ "a/b": { type: "simulated" } }],
  model: ["gpt-5"],
  models: [{ "gpt-5": {} }],
  "models.gateway/big-model.contextWindow": [0],
  "retry.profile": ["nightly"],
  "retry.schedule.type": ["fibonacci"],
  "retry.schedule.delays": [[]],
  "retry.schedule.delays.0": ["5s"],
  "retry.schedule.tail": ["0 seconds"],
  "retry.reasons": [{ weather: {} }],
  "retry.reasons.network.schedule.factor": [0.9],
  "retry.reasons.network.atLeast": ["-1 seconds"],
  "retry.reasons.network.maxRetries": [-1],
  "retry.jitter.factor": [1.1, -0.1],
  "retry.maxRetries": [-1, 0.5],
  "retry.budget.total": ["-8 hours"],
  "retry.spendGuard": [{ after: "1 hour" }],
  "retry.spendGuard.maxInputTokens": [-1],
  "retry.requestTimeout.idle": ["Infinity"],
  "retry.maxResponseCharacters": [0, 268_435_457],
  "retry.routing.chains": [{ "gpt-5": ["a/b"] }],
  "retry.routing.chains.default": [["a/b", "a/b"], Array.from({ length: 101 }, (_, n) => `a/${n}`)],
  "retry.routing.cooldown": ["0 minutes"],
  "retry.maxTurns": [0],
  "retry.maxFailedToolSteps": [-1],
  "retry.finalReport.description": [" \n"],
  "retry.finalReport.contextBudget": [0],
  tools: ["x".repeat(33), "-a", "a.b", ""].map((name) => ({ [name]: { command: "a" } })),
  "tools.files.maxOutput": [1_023, 1_048_577],
  "tools.files.timeout": ["60 secs"],
  "tools.files.env": [{ "1A": "x" }],
  "log.level": ["trace"],
  "telemetry.retryLog": [true],
  "telemetry.retryLog.maxBytes": [999],
  "telemetry.retryLog.keep": [1_001, -1],
  "telemetry.otlp.endpoint": ["localhost:4318"],
  "telemetry.notifications.command": [[]],
  "telemetry.notifications.webhookEnv": ["https://hooks.example.org/a"]
}

const pathOf = (place: string): Path => place.split(".").map((key) => (/^\d+$/.test(key) ? Number(key) : key))

describe("holdfast.config.schema.json", () => {
  it("is up to date", () => {
    expect(schema).toEqual(JSON.parse(JSON.stringify(EditorSchema.make())))
  })

  it("pages have examples", () => {
    expect(new Set(examples.map(({ path }) => path))).toContain("docs/configuration.md")
    expect(examples.length).toBeGreaterThan(20)
  })

  it.each(examples)("accepts the example of $path: $value", ({ value }) => {
    expect(isAccepted(value)).toBe(true)
    expect(isValid(value), JSON.stringify(validate.errors)).toBe(true)
  })

  it("accepts a configuration with every key, and the example has every key", () => {
    expect(Result.isFailure(decode(example)) ? decode(example) : undefined).toBeUndefined()
    expect(isValid(example), JSON.stringify(validate.errors)).toBe(true)
    const written = new Set(inside(example).map(({ path }) => path.join(".")))
    const missing = Array.from(ROWS.keys())
      .filter((key) => !key.startsWith("retry.reasons.*.schedule."))
      .map((key) =>
        key.replace(/^(providers|models|prices|tools|retry\.reasons)\.\*/, (_, record) => `${record}.${ONLY[record]}`)
      )
      .filter((key) => !written.has(key))
    expect(missing).toEqual(ELSEWHERE)
  })

  it("both refuse a configuration with an unknown key or a wrong type in one place", () => {
    const cases = broken(example)
    expect(cases.length).toBeGreaterThan(500)
    const passed = cases.flatMap(({ name, value }) => [
      ...(isAccepted(value) ? [`the service accepts: ${name}`] : []),
      ...(isValid(value) ? [`the schema accepts: ${name}`] : [])
    ])
    expect(passed).toEqual([])
  })

  it.each(Object.entries(IN_RANGE))("both accept that %s is one of %j", (place, values) => {
    for (const value of values.map((fine) => withValue(example, pathOf(place), fine)))
      expect({ service: isAccepted(value), schema: isValid(value) }).toEqual({ service: true, schema: true })
  })

  const wrong = Object.entries(OUT_OF_RANGE).flatMap(([place, values]) =>
    values.map((wrong) => [place, wrong] as const)
  )
  it.each(wrong)("both refuse that %s is %j", (place, wrong) => {
    const value = withValue(example, pathOf(place), wrong)
    expect(value, "the example has no such key").not.toEqual(example)
    expect({ service: isAccepted(value), schema: isValid(value) }).toEqual({ service: false, schema: false })
  })

  it("the schema accepts every configuration that the service accepts", () => {
    const number = fc.constantFrom("0", "1", "-0", "-1", "0.0", "1.5", "-0.0", "10", "007", "365", "366", "1e3", "")
    const unit = fc.constantFrom("millis", "second", "seconds", "minutes", "hours", "day", "weeks", "nanos", "secs", "")
    const space = fc.constantFrom(" ", "  ", "\t", "\n", "")
    const text = fc.oneof(
      fc.tuple(number, space, unit).map((parts) => parts.join("")),
      fc.constantFrom("Infinity", "-Infinity", "none", "a/b", "a//b", "/b", "a/", "A_1", "default", ":memory:", "*"),
      fc.constantFrom(
        " http://a.b",
        ..."https://a.b/c HTTPS://a.b postgres://u@h/d PostgreSQL://h/d [::1]:1 h:1".split(" ")
      ),
      fc.string()
    )
    const numbers = fc.oneof(
      fc.integer(),
      fc.double({ noNaN: true, noDefaultInfinity: true }),
      fc.constantFrom(0, 1, 0.5)
    )
    const places = inside(example).filter(
      ({ path, value }) => !isFree(path) && (typeof value !== "object" || value === null)
    )
    let accepted = 0
    Law.holdsWith({ numRuns: 300 }, [fc.constantFrom(...places), text, numbers], ({ path, value }, text, number) => {
      const changed = withValue(example, path, typeof value === "number" ? number : text)
      if (!isAccepted(changed)) return
      accepted++
      expect(isValid(changed), JSON.stringify([path, text, number, validate.errors])).toBe(true)
    })
    expect(accepted).toBeGreaterThan(5)
  })

  it("every key has a description, and a default is a valid value of its key", () => {
    const blank: Array<string> = []
    const walk = (at: AnySchemaObject, path: Path): void => {
      for (const [name, inner] of Object.entries<AnySchemaObject>(at["properties"] ?? {})) {
        const key = [...path, name]
        const isSection = inner["type"] === "object" && inner["properties"] !== undefined
        const isRecord = NAMES.has(key.join("."))
        if (inner["description"] === undefined && !isSection && !isRecord) blank.push(key.join("."))
        if ("default" in inner)
          expect(new Ajv({ strict: false }).validate(inner, inner["default"]), key.join(".")).toBe(true)
        walk(inner, key)
      }
      if (typeof at["additionalProperties"] === "object") walk(at["additionalProperties"], [...path, "*"])
      for (const inner of at["anyOf"] ?? []) walk(inner, path)
    }
    walk(schema, [])
    expect(blank).toEqual([])
    expect(schema["properties"].server.properties.port).toMatchObject({ default: 4747, minimum: 0, maximum: 65_535 })
    expect(schema["properties"].retry.properties.maxRetries.description).toBe(
      "Retries of a step, those without a wait too. By profile: overnight no limit; interactive `3`; cycling `3`."
    )
  })
})

/** The only entry of each record in the example. */
const ONLY: Readonly<Record<string, string>> = {
  providers: "gateway",
  models: "gateway/big-model",
  prices: "gateway/big-model",
  tools: "files",
  "retry.reasons": "network"
}

/** Keys that conflict with other keys of the example. */
const ELSEWHERE = [..."base factor increment".split(" ").map((key) => `retry.schedule.${key}`), "retry.routing.targets"]
