import { describe, expect, it } from "@effect/vitest"
import * as Schema from "effect/Schema"
import * as Durations from "../src/profile/Durations.ts"
import * as Profile from "../src/profile/Profile.ts"
import { profiles } from "../src/profile/Profile.ts"
import { RetrySettings } from "../src/profile/RetrySettings.ts"
import * as Setting from "../src/profile/Setting.ts"

const one = Schema.Struct({
  type: Setting.required(Schema.Literal("one"), { doc: "one or two" }),
  wait: Setting.setting(Durations.Positive, { doc: "how long", default: "2 minutes" })
})
const two = Schema.Struct({
  type: Setting.required(Schema.Literal("two"), { doc: "not shown" }),
  all: Setting.setting(Schema.Record(Schema.String, one), { doc: "by name", unset: "none", isSecret: true })
})

describe("Setting", () => {
  it("lists the settings of a schema by key, through unions and records; the first declaration of a key counts", () => {
    const rows = Setting.rows(Schema.Union([one, two]))
    expect(Array.from(rows.values(), ({ type: _type, ...row }) => row)).toEqual([
      { key: "type", doc: "one or two", isRequired: true },
      { key: "wait", doc: "how long", default: "2 minutes", isRequired: false },
      { key: "all", doc: "by name", unset: "none", isSecret: true, isRequired: false },
      { key: "all.*.type", doc: "one or two", isRequired: true },
      { key: "all.*.wait", doc: "how long", default: "2 minutes", isRequired: false }
    ])
  })

  it("a default that its own type refuses throws", () => {
    const wrong = Schema.Struct({ wait: Setting.setting(Durations.Positive, { doc: "how long", default: "2 min" }) })
    expect(() => Setting.defaults(wrong)).toThrow("Expected a duration")
  })
})

describe("the declarations of retry", () => {
  const rows = Setting.rows(RetrySettings)

  it("a configuration that writes every default has the policy of one that writes none", () => {
    const { midStream: _midStream, ...defaults } = Setting.defaults(RetrySettings)
    const requestTimeout = Setting.defaults(RetrySettings.fields.requestTimeout.schema)
    expect(Profile.resolve({ ...defaults, requestTimeout })).toMatchObject(Profile.resolve({}))
  })

  it("have the values of the profiles", () => {
    const inWords = (value: unknown): string => (value === undefined ? "no limit" : `\`${String(value)}\``)
    const hours = (ms = 0): string | undefined => (ms === 0 ? undefined : `"${ms / 3_600_000} hours"`)
    const minutes = (ms = 0): string | undefined => (ms === 0 ? undefined : `"${ms / 60_000} minutes"`)
    const columns = [profiles.overnight, profiles.interactive, profiles.cycling]
    expect(profiles.weekly).toEqual({
      ...profiles.overnight,
      budget: { ...profiles.overnight.budget, totalMs: 8 * 86_400_000 }
    })
    const found = (key: string) => rows.get(key)?.profiles
    expect(found("maxRetries")).toEqual(columns.map(({ maxRetries }) => inWords(maxRetries)))
    expect(found("maxTurns")).toEqual(columns.map(({ maxTurns }) => inWords(maxTurns)))
    expect(found("counts")).toEqual(columns.map(({ counts }) => inWords(counts)))
    expect(found("routing")).toEqual(columns.map(({ routing }) => inWords(routing.type)))
    expect(found("budget")).toEqual(columns.map(({ budget }) => inWords(hours(budget.totalMs))))
    expect(found("budget.total")).toEqual(found("budget"))
    expect(found("maxDelay")).toEqual(columns.map(({ maxDelayMs }) => inWords(minutes(maxDelayMs))))
    expect(found("requestTimeout.idle")).toEqual(
      columns.map(({ requestTimeout }) => inWords(minutes(requestTimeout.idleMs)))
    )
  })
})
