import { expect, it } from "@effect/vitest"
import { readFileSync } from "node:fs"
import * as Survival from "../tools/Survival.ts"

it("docs/profiles.md matches the profiles; `npx --yes pnpm@12 --filter @holdfast/policy write-profiles` writes it", () => {
  expect(readFileSync(new URL("../../../docs/profiles.md", import.meta.url), "utf8")).toBe(Survival.page())
})
