/** The rules, as scenarios, against the service, over HTTP, with providers on sockets and shortened delays. */
import { describe, it } from "@effect/vitest"
import { Effect } from "effect"
import * as PlayedScenario from "./PlayedScenario.ts"
import { chapters } from "./Chapters.ts"
import * as ServiceRunner from "./ServiceRunner.ts"

describe.concurrent.each(chapters)("$name", ({ scenarios }) => {
  for (const scenario of scenarios.filter(({ only }) => only?.runner !== "kernel")) {
    const scale = ServiceRunner.scaleOf(scenario)
    it.live.each(scenario.formats ?? (["openai"] as const))(`${scenario.title} (%s)`, (format) =>
      Effect.map(ServiceRunner.play(scenario, format), (played) =>
        PlayedScenario.verify(scenario, played, (ms) => ms / scale)
      )
    )
  }
})
