import { expect, it } from "@effect/vitest"
import { readFileSync } from "node:fs"
import * as CrowdPage from "../tools/CrowdPage.ts"

const read = (name: string): string => readFileSync(new URL(`../../../docs/${name}`, import.meta.url), "utf8")

it("docs/crowd.md and its picture match the gate; `npx --yes pnpm@12 --filter @holdfast/policy write-crowd` writes them", () => {
  expect(read("crowd.md")).toBe(CrowdPage.page())
  expect(read("images/crowd.svg")).toBe(CrowdPage.svg())
})
