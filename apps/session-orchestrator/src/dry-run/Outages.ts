/**
 * The outages of a dry run: for each endpoint a script of the simulated provider.
 *
 * Outages.O1. One script is for every endpoint, or `TARGET=SCRIPT` for one: a provider, or a `provider/model`. The most exact name counts,
 *     and an endpoint without a script answers.
 */
import { Simulated } from "@holdfast/simulated"
import { Quote, Target } from "@holdfast/wire"
import { Result } from "effect"

/** Scripts by target: `provider/model`, `provider`, or `*` for every endpoint. */
export type Outages = ReadonlyMap<string, string>

/** The script of an endpoint that has none. */
const ANSWERS = "ok"

/** Reads outages as they are written; fails with what was wrong, where, and what was expected. */
export const read = (texts: ReadonlyArray<string>): Result.Result<Outages, string> => {
  const outages = new Map<string, string>()
  for (const text of texts) {
    const [, name = EVERY, script = text] = NAMED.exec(text) ?? []
    if (outages.has(name))
      return Result.fail(name === EVERY ? "there are two scripts for every endpoint." : `${name} has two scripts.`)
    const counts = Array.from(script.matchAll(/(?:tokens|after)-(\d+)/gu), ([, count]) => Number(count))
    if (counts.some((count) => count > MOST_TOKENS))
      return Result.fail(`${Quote.of(text)}: an answer of a dry run has ${MOST_TOKENS} tokens at most.`)
    const checked = Simulated.describe(script)
    if (Result.isFailure(checked)) {
      const { position, why } = checked.failure
      const at = text.length - script.length + position
      return Result.fail(`${Quote.of(text)}, character ${at}: ${why} Expected ${Simulated.LANGUAGE}.`)
    }
    outages.set(name, script)
  }
  return Result.succeed(outages)
}

/** The script of a target (Outages.O1). */
export const scriptOf = (outages: Outages, target: Target.Target): string =>
  outages.get(Target.format(target)) ?? outages.get(target.provider) ?? outages.get(EVERY) ?? ANSWERS

/** Whether an outage is for a target by name. */
export const describes = (outages: Outages, target: Target.Target): boolean =>
  outages.has(Target.format(target)) || outages.has(target.provider) || outages.has(EVERY)

/** Outages in words, one line for each. */
export const describe = (outages: Outages): ReadonlyArray<string> =>
  Array.from(outages, ([name, script]) => {
    const words = Result.getOrElse(Simulated.describe(script), () => script)
    return name === EVERY ? words : `${name}: ${words}`
  })

/** The names that outages are for, without the one for every endpoint. */
export const names = (outages: Outages): ReadonlyArray<string> =>
  Array.from(outages.keys()).filter((name) => name !== EVERY)

// --- internal

const EVERY = "*"

/** More take the thread for a tenth of a second. */
const MOST_TOKENS = 10_000

/** A name before the first `=`; a script has no `=` before its first `;` or `,`. */
const NAMED = /^([A-Za-z0-9_.-]+(?:\/[^\s=;,]+)?)=(.*)$/s
