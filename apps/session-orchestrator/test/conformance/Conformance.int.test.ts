/** The rules, as scenarios, against the service, over HTTP, with providers on sockets and shortened delays. */
import { describe, it } from "@effect/vitest"
import { Effect } from "effect"
import * as PlayedScenario from "./PlayedScenario.ts"
import { chapters } from "./Chapters.ts"
import * as ServiceRunner from "./ServiceRunner.ts"

/** How much longer the delays of a scenario are that was played otherwise than it should. */
const LONGER = 20

describe.concurrent.each(chapters)("$name", ({ scenarios }) => {
  for (const scenario of scenarios) {
    const scale = ServiceRunner.scaleOf(scenario)
    const { format = "openai" } = scenario
    const played = (scale: number) =>
      Effect.map(ServiceRunner.play(scenario, format, scale), (played) =>
        PlayedScenario.verify(scenario, played, (ms) => ms / scale)
      )
    it.live(`${scenario.title} (${format})`, () =>
      // On a machine that stands still for longer than a delay or a limit, another event comes first: with longer ones none does.
      Effect.catchCause(played(scale), () => played(Math.max(1, scale / LONGER)))
    )
  }
})
