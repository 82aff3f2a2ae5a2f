/** Makes a plan that breaks a law smaller, as long as it breaks the same law. */
import * as Night from "./Night.ts"
import type { Reply } from "./Network.ts"
import type { Plan } from "./Plan.ts"

/** The most nights that are run for it. */
const MOST_NIGHTS = 300

/** The smallest plan that was found, and its night. */
export const shrink = async (broken: Night.Result): Promise<Night.Result> => {
  const law = broken.broken?.law
  let best = broken
  let left = MOST_NIGHTS
  const tried = async (plan: Plan): Promise<boolean> => {
    if (left-- <= 0) return false
    const result = await Night.run(plan)
    if (result.broken?.law !== law) return false
    best = result
    return true
  }
  let size = -1
  while (size !== sizeOf(best.plan)) {
    size = sizeOf(best.plan)
    await tried({ ...best.plan, order: "in-order" })
    await tried({ ...best.plan, settings: [best.plan.settings[0]] })
    for (const part of ["deaths", "troubles", "disk", "commands", "watchers", "callers", "prompts"] as const) {
      for (let from = best.plan[part].length - 1; from >= 0; from--)
        await tried({ ...best.plan, [part]: best.plan[part].toSpliced(from, 1) })
    }
    for (let n = best.plan.replies.length - 1; n >= 0; n--) {
      if (best.plan.replies[n]?.type !== "answer")
        await tried({ ...best.plan, replies: best.plan.replies.with(n, ANSWER) })
    }
    for (const [n, watcher] of best.plan.watchers.entries())
      if (watcher.lasts.length > 0)
        await tried({ ...best.plan, watchers: best.plan.watchers.with(n, { ...watcher, lasts: [] }) })
    for (const part of ["commands", "prompts"] as const) {
      for (const [n, one] of best.plan[part].entries()) {
        if (one.againAfter === undefined) continue
        await tried({
          ...best.plan,
          [part]: best.plan[part].toSpliced(n, 1, { ...one, againAfter: undefined } as never)
        })
      }
    }
  }
  return best
}

// --- internal

const ANSWER: Reply = { type: "answer", words: 2, paceMs: 5 }

const sizeOf = ({ callers, commands, deaths, disk, prompts, replies, settings, troubles, watchers }: Plan): number =>
  callers.reduce((sum, { leaves }) => sum + 1 + leaves.length, 0) +
  commands.length +
  deaths.length +
  troubles.length +
  disk.length +
  prompts.length +
  settings.length +
  replies.filter(({ type }) => type !== "answer").length +
  watchers.reduce((sum, { lasts }) => sum + 1 + lasts.length, 0) +
  [...commands, ...prompts].filter(({ againAfter }) => againAfter !== undefined).length
