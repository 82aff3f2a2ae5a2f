/** The parts that entries of all types of providers have: keys, and additions to requests. */
import { defined, Target } from "@holdfast/wire"
import { Redacted } from "effect"
import type { Credential, RequestOptions } from "./Config.ts"
import * as Environment from "./reading/Environment.ts"
import type * as RequestSettings from "./reading/RequestSettings.ts"
import type * as Settings from "./reading/Settings.ts"

/** The variables of keys that an entry names; `undefined`: it names none. */
export const keyVariables = ({ apiKeyEnv }: Settings.ProviderSettings): ReadonlyArray<string> | undefined =>
  typeof apiKeyEnv === "string" ? [apiKeyEnv] : apiKeyEnv

/** The additions to a provider's requests; no field if there are none. */
export const requestOf = (
  name: string,
  entry: Partial<Settings.ProviderSettings>,
  models: Readonly<Record<string, Settings.ModelSettings>>
): { readonly request?: RequestOptions } => {
  const modelBody = new Map(
    Object.entries(models).flatMap(([target, { body }]): ReadonlyArray<[string, RequestSettings.Body]> => {
      const { model, provider } = Target.parse(target) ?? {}
      return body === undefined || model === undefined || provider !== name ? [] : [[model, body]]
    })
  )
  const { body, maxTokens, promptCaching } = entry
  const added = defined({ body, maxTokens, promptCaching })
  return Object.keys(added).length === 0 && modelBody.size === 0 ? {} : { request: { ...added, modelBody } }
}

/** The same key in two variables is one credential: switching to it again would not help. */
export const credentialsOf = (
  variables: ReadonlyArray<string>,
  environment: Environment.Environment
): ReadonlyArray<Credential> => {
  const keys = variables.map((name) => ({ name, value: Environment.get(environment, name)?.trim() ?? "" }))
  return keys
    .filter(({ value }, at) => value !== "" && keys.findIndex((other) => other.value === value) === at)
    .map(({ name, value }) => ({ name, value: Redacted.make(value) }))
}
