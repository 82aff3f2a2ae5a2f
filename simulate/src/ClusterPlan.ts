/** Draws what happens in a night of several runners, from a night of one process. */
import type * as Chance from "./Chance.ts"
import type { Moment, Plan } from "./Plan.ts"

/** The same with several runners: a short night, since runners look at each other each second. The gateway is not in it. */
export const of = (plan: Plan, { between, isTrue, of }: Chance.Chance): Plan => {
  const runners = of([2, 2, 3, 3, 5])
  const soon = (when: Moment): Moment => ("at" in when ? { at: Math.min(when.at, between(0, 60_000)) } : when)
  const runner = () => between(0, runners - 1)
  const whens = Array.from({ length: between(0, 4) }, (): Moment =>
    isTrue(0.5)
      ? { at: between(0, 60_000) }
      : { call: between(0, 6), ...(isTrue(0.5) ? { ms: between(0, 6_000) } : { tasks: between(0, 40) }) }
  )
  return {
    ...plan,
    runners,
    settings: [
      {
        ...plan.settings[0],
        gate: { enabled: false },
        retry: {
          profile: "overnight",
          schedule: { type: "steps", delays: [of(["1 second", "6 seconds"]), "7 seconds", "20 seconds"] },
          budget: { total: "2 minutes" },
          requestTimeout: { firstContent: "20 seconds", idle: "25 seconds" },
          midStream: of(["fail", "discard", "unseen"])
        }
      }
    ],
    prompts: plan.prompts.map((prompt) => ({ ...prompt, at: Math.min(prompt.at, between(0, 60_000)) })),
    callers: [],
    commands: plan.commands
      .filter(({ conversation }) => conversation !== "")
      .map((command) => ({
        ...command,
        when: soon(command.when),
        what: command.what.type === "wait-until" ? { type: "wait-until", inMs: of([0, 4_000, 30_000]) } : command.what
      })),
    watchers: plan.watchers.map((watcher) => ({ ...watcher, when: soon(watcher.when) })),
    replies: plan.replies.map((reply) => (reply.type === "status" ? { type: "status", status: reply.status } : reply)),
    deaths: plan.deaths.map((death) => ({
      ...death,
      when: soon(death.when),
      runner: runner(),
      downMs: Math.min(death.downMs, of([0, 3_000, 60_000]))
    })),
    troubles: whens.map((when) => ({
      when,
      runner: runner(),
      type: of(["freezes", "freezes", "loses its locks", "is cut off"]),
      ms: of([500, 4_000, 11_000, 25_000])
    }))
  }
}
