/** Resolves the `webhooks` settings. Pure. */
import type { Values } from "./Config.ts"
import type * as Environment from "./reading/Environment.ts"
import type { Problem } from "./reading/ConfigProblem.ts"
import type * as Settings from "./reading/Settings.ts"
import * as SecretChoice from "./SecretChoice.ts"

/** Resolves the section: receivers of turns' ends need a secret, which signs the messages. */
export const choose = (
  { secret, secretEnv, turnEnd }: NonNullable<Settings.Settings["webhooks"]>,
  environment: Environment.Environment
): { readonly webhooks: Values["webhooks"]; readonly problems: ReadonlyArray<Problem> } => {
  const { problems, value } = SecretChoice.choose(
    { key: "webhooks.secret", value: secret, variable: secretEnv },
    environment
  )
  if (value !== undefined) return { webhooks: { secret: value, turnEnd }, problems }
  const isMissing = turnEnd !== undefined && problems.length === 0
  return { webhooks: undefined, problems: isMissing ? [{ place: "webhooks.turnEnd", message: NO_SECRET }] : problems }
}

// --- internal

const NO_SECRET = 'there is no secret to sign messages with. Give it a "secretEnv" or a "secret".'
