/** The model of a session as an option of the protocol. Pure. */
import type { SessionConfigOption } from "@agentclientprotocol/sdk"
import { Profile } from "@holdfast/policy"
import { Target } from "@holdfast/wire"
import type { Values } from "../config/Config.ts"

/** The id of the option. */
export const ID = "model"

/** The models that a configuration names: its own, those that it falls back to, and those that it describes. */
export const namedIn = ({
  model,
  models,
  retry
}: Pick<Values, "model" | "models" | "retry">): ReadonlyArray<string> => {
  const { routing } = Profile.resolve(retry)
  const targets = routing.type === "round-robin" ? routing.targets : Object.values(routing.chains).flat()
  return Array.from(
    new Set([...[...(model === undefined ? [] : [model]), ...targets].map(Target.format), ...Object.keys(models)])
  )
}

/** The option, with the session's model and those to choose from. */
export const optionOf = (current: string, named: ReadonlyArray<string>): SessionConfigOption => ({
  type: "select",
  id: ID,
  name: "Model",
  category: "model",
  currentValue: current,
  options: Array.from(new Set([current, ...named]), (name) => ({ value: name, name }))
})
