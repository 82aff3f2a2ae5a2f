/** Chooses a secret that the file has, or that it names the variable of. Pure. */
import { defined } from "@holdfast/wire"
import { Redacted } from "effect"
import * as Environment from "./reading/Environment.ts"
import type { Problem } from "./reading/ConfigProblem.ts"
import * as Settings from "./reading/Settings.ts"

/** A secret, as the file has it. */
interface Written {
  /** Its key, as in `server.token`; the key of its variable has `Env` behind that. */
  readonly key: `${string}.${"secret" | "token"}`
  readonly value: Redacted.Redacted | undefined
  readonly variable: string | undefined
}

/** The secret, if there is one and it is long enough. */
export const choose = (
  { key, value, variable }: Written,
  environment: Environment.Environment
): { readonly value: Redacted.Redacted | undefined; readonly problems: ReadonlyArray<Problem> } => {
  if (variable === undefined) return { value, problems: [] }
  const refused = (message: string, isOfService?: true) => ({
    value: undefined,
    problems: [{ place: `${key}Env`, message, ...defined({ isOfService }) }]
  })
  if (value !== undefined) return refused(`there is a ${key} too. Keep one of them.`)
  const found = Environment.get(environment, variable)
  if (found === undefined) return refused(`the environment variable ${variable} is not set.`, true)
  if (found.length >= Settings.SHORTEST_TOKEN) return { value: Redacted.make(found), problems: [] }
  const name = key.slice(key.indexOf(".") + 1)
  return refused(
    `the ${name} in ${variable} has ${found.length} characters; expected at least ${Settings.SHORTEST_TOKEN}.`
  )
}
