/** Resolves the `webhooks` settings. Pure. */
import { Redacted } from "effect"
import type { Values } from "./Config.ts"
import * as Environment from "./reading/Environment.ts"
import type { Problem } from "./reading/ConfigProblem.ts"
import * as Settings from "./reading/Settings.ts"

/** Resolves the section: receivers of turns' ends need a secret, which signs the messages. */
export const choose = (
  { secret, secretEnv, turnEnd }: NonNullable<Settings.Settings["webhooks"]>,
  environment: Environment.Environment
): { readonly webhooks: Values["webhooks"]; readonly problems: ReadonlyArray<Problem> } => {
  const none = (place: string, message: string) => ({ webhooks: undefined, problems: [{ place, message }] })
  if (secretEnv !== undefined && secret !== undefined) {
    return none("webhooks.secretEnv", "there is a webhooks.secret too. Keep one of them.")
  }
  const found = secretEnv === undefined ? undefined : Environment.get(environment, secretEnv)
  if (secretEnv !== undefined && found === undefined) {
    return none("webhooks.secretEnv", `the environment variable ${secretEnv} is not set.`)
  }
  if (found !== undefined && found.length < Settings.SHORTEST_TOKEN) {
    return none(
      "webhooks.secretEnv",
      `the secret in ${secretEnv} has ${found.length} characters; expected at least ${Settings.SHORTEST_TOKEN}.`
    )
  }
  const chosen = found === undefined ? secret : Redacted.make(found)
  if (chosen === undefined) {
    return turnEnd === undefined
      ? { webhooks: undefined, problems: [] }
      : none("webhooks.turnEnd", 'there is no secret to sign messages with. Give it a "secretEnv" or a "secret".')
  }
  return { webhooks: { secret: chosen, turnEnd }, problems: [] }
}
