/** The rules, as scenarios, against the kernel and the policies, on the test clock. */
import { describe, it } from "@effect/vitest"
import { Effect } from "effect"
import * as KernelRunner from "./KernelRunner.ts"
import * as PlayedScenario from "./PlayedScenario.ts"
import { chapters } from "./Chapters.ts"

describe.each(chapters)("$name", ({ scenarios }) => {
  describe.each(["once", "again after every record"] as const)("run %s", (mode) => {
    for (const scenario of scenarios.filter(({ only }) => only?.runner !== "service")) {
      it.effect.each(scenario.formats ?? (["openai"] as const))(`${scenario.title} (%s)`, (format) =>
        Effect.map(KernelRunner.play(scenario, format, mode), (played) =>
          PlayedScenario.verify(scenario, played, (ms) => ms)
        )
      )
    }
  })
})
