/**
 * The tools of the service, and what they have done.
 *
 * A tool takes effect when it is called, and its result comes later: a process that dies in between does not know of it.
 */
import type { Toolbox } from "@holdfast/kernel"
import { Effect } from "effect"
import type { Tools } from "../../apps/session-orchestrator/src/engine/conversation/Tools.ts"
import type * as Chance from "./Chance.ts"
import type { Laws } from "./Laws.ts"
import type { Timeline } from "./Timeline.ts"
import type { World } from "./World.ts"

/** The names of the tools; `look` is idempotent, `ask` needs approval. */
export const TOOLS = ["look", "send", "ask"] as const

/** How long a person has to approve a call. */
export const CONFIRM_MS = 600_000

export class Workshop {
  /** Times that each tool call took effect, by its id. */
  readonly effects = new Map<string, number>()
  private readonly world: World
  private readonly chance: Chance.Chance
  private readonly laws: Laws
  private readonly timeline: Timeline

  constructor(world: World, chance: Chance.Chance, laws: Laws, timeline: Timeline) {
    this.world = world
    this.chance = chance
    this.laws = laws
    this.timeline = timeline
  }

  private readonly toolbox: Toolbox.Toolbox["Service"] = {
    definitions: TOOLS.map((name) => ({
      name,
      inputSchema: { type: "object", properties: { n: { type: "number" } } },
      ...(name === "look" ? { isIdempotent: true } : {}),
      ...(name === "ask" ? { confirmWithinMs: CONFIRM_MS } : {})
    })),
    run: ({ input, toolCallId, toolName }, isApproved = false) =>
      Effect.suspend(() => {
        if (this.world.current?.isAlive !== true) return Effect.never
        const times = (this.effects.get(toolCallId) ?? 0) + 1
        this.effects.set(toolCallId, times)
        this.timeline.add("tool", `${toolName} ${toolCallId} takes effect`)
        this.laws.check(
          "X8 a tool that is not idempotent is run once",
          times === 1 || toolName === "look",
          () => `${toolName} ${toolCallId} takes effect for the ${times}th time`
        )
        this.laws.check(
          "C7 half a tool call is never run",
          JSON.stringify(input) === `{"n":${toolCallId.slice("tool-".length)}}`,
          () => `${toolName} ${toolCallId}: ${JSON.stringify(input)}`
        )
        this.laws.check(
          "a call that needs approval has it",
          toolName !== "ask" || (isApproved && this.laws.isApproved(toolCallId)),
          () => `${toolName} ${toolCallId} runs without`
        )
        const outcome = { output: `done ${toolCallId}`, isError: this.chance.isTrue(0.1) }
        return Effect.delay(Effect.succeed(outcome), this.chance.of([0, 1, 30, 2_000, 60_000]))
      })
  }

  readonly tools: Tools["Service"] = {
    toolbox: Effect.sync(() => this.toolbox),
    missing: () => [],
    isComplete: Effect.void,
    names: ["workshop"],
    only: () => this.tools
  }
}
