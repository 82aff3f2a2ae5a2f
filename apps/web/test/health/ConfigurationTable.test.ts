import type { EffectiveConfiguration } from "@holdfast/wire"
import { expect, it } from "vitest"
import { entriesWith, sourceOf } from "../../src/health/ConfigurationTable.tsx"

const entries: ReadonlyArray<EffectiveConfiguration.Entry> = [
  { key: "server.port", value: "4747", source: { from: "default" } },
  { key: "server.token", value: "[redacted]", source: { from: "environment", name: "HOLDFAST_TOKEN" } },
  { key: "model", value: "openai/gpt-5", source: { from: "flag", name: "--model" } },
  { key: "retry.profile", value: "overnight", source: { from: "file", name: "night.json", line: 9 } },
  { key: "retry.budget", value: "8 h", source: { from: "profile", name: "overnight" } }
]

const keys = (text: string) => entriesWith(entries, text).map(({ key }) => key)

it("a search finds every word in key, value or source", () => {
  expect(keys("")).toHaveLength(entries.length)
  expect(keys("  retry OVERNIGHT ")).toEqual(["retry.profile", "retry.budget"])
  expect(keys("line 9")).toEqual(["retry.profile"])
  expect(keys("holdfast_")).toEqual(["server.token"])
  expect(keys("nothing")).toEqual([])
})

it("a source is named as a person would look for it", () => {
  expect(entries.map(({ source }) => sourceOf(source))).toEqual([
    "default",
    "HOLDFAST_TOKEN",
    "--model",
    "night.json, line 9",
    "profile overnight"
  ])
})
