/**
 * Chooses the model of conversations that name none.
 *
 * A configured model is used if its provider exists and has the key that it needs; otherwise it is a problem. Without a configured model
 * the first built-in provider with a key is used. A notice names it and its variable. Without a key and without a configured provider a
 * simulated model answers. With a configured provider there is no model: its operator does not want a simulation, and calls through the
 * gateway name their own.
 *
 * With targets in turn (`round-robin`) and no configured model the first target is used. The check of `retry` finds targets that cannot be used.
 */
import { RetrySettings } from "@holdfast/policy"
import { Quote, Target } from "@holdfast/wire"
import { Result } from "effect"
import { BuiltIn } from "@holdfast/providers"
import type { Values } from "./Config.ts"
import * as ProviderTable from "./ProviderTable.ts"
import { formatPath, type ConfigProblem } from "./reading/ConfigProblem.ts"
import type { Findings } from "./reading/Expansion.ts"
import { question } from "./reading/Nearest.ts"
import type { Settings } from "./reading/Settings.ts"
import type { SettingOrigin } from "./reading/Sources.ts"

/** The models of the simulated provider. Their names are scripts. */
export interface SimulatedModels {
  /** The model if none is configured. */
  readonly DEFAULT_MODEL: string
  /** Describes a model's script in words; fails if the name is no script. */
  readonly describe: (model: string) => Result.Result<string, { readonly message: string }>
}

/** The chosen model, with a remark for the operator. */
interface ModelChoice {
  /** `undefined`: each conversation has to name its own. */
  readonly model: Target.Target | undefined
  readonly notice?: string
}

/** The names of the models that a configuration has: its own, those of its retries, and those that it describes. */
export const namesIn = ({
  model,
  models,
  retry
}: Pick<Values, "model" | "models" | "retry">): ReadonlyArray<string> => [
  ...(model === undefined ? [] : [Target.format(model)]),
  ...RetrySettings.targetNames(retry).map(({ name }) => name),
  ...Object.keys(models)
]

/**
 * Chooses the model, and checks all targets that the configuration names: a target of `retry` needs its provider and the key; an entry of
 * `models` needs the provider alone, because a model may be described that nothing uses.
 *
 * @param origin the source of a configured model
 */
export const choose = (
  { model, models = {}, providers: own = {}, retry = {} }: Settings,
  providers: Values["providers"],
  simulated: SimulatedModels,
  origin: SettingOrigin,
  { isRead, problems }: Findings
): ModelChoice => {
  // A provider whose own entry is wrong (`isRead`) was reported with that entry.
  const check = (target: Target.Target | undefined, place: string): void => {
    const refusal = target && isRead(target.provider) ? refusalOf(target, providers, simulated) : undefined
    if (refusal !== undefined) problems.push({ place, ...refusal })
  }
  const written = model === undefined ? undefined : Target.parse(model)
  check(written, /^(HOLDFAST_|--)/.test(origin) ? origin : "model")
  for (const { name, path } of RetrySettings.targetNames(retry))
    check(Target.parse(name), formatPath(["retry", ...path]))
  for (const name of Object.keys(models)) {
    const provider = Target.parse(name)?.provider ?? name
    if (providers.has(provider) || !isRead(provider)) continue
    const message = `there is no provider ${JSON.stringify(provider)}. Known: ${Array.from(providers.keys()).join(", ")}.`
    problems.push({ place: formatPath(["models", name]), message })
  }
  if (written !== undefined) return { model: written }
  const [firstTarget] = retry.routing?.type === "round-robin" ? (retry.routing.targets ?? []) : []
  const inTurn = firstTarget === undefined ? undefined : Target.parse(firstTarget)
  if (inTurn !== undefined) return { model: inTurn }
  const [first, ...others] = BuiltIn.builtIns.filter(({ name }) => ProviderTable.hasKey(providers.get(name)))
  if (first !== undefined) {
    const model = { provider: first.name, model: first.defaultModel }
    return { model, notice: foundKey(first, others, providers) }
  }
  const [real] = Object.entries(own).flatMap(([name, { type }]) => (type === "simulated" ? [] : [name]))
  return real === undefined
    ? { model: { provider: "simulated", model: simulated.DEFAULT_MODEL }, notice: NO_KEY }
    : { model: undefined, notice: noModel(real) }
}

// --- internal

const NO_KEY =
  "No provider's key was found, so a simulated model answers. Export one, such as OPENAI_API_KEY or " +
  "ANTHROPIC_API_KEY, and a real one does."

const noModel = (own: string): string =>
  `model is not set: prompts are refused unless they name a model, such as "${own}/its-model". Calls through the gateway name theirs.`

const foundKey = (
  first: BuiltIn.BuiltIn,
  others: ReadonlyArray<BuiltIn.BuiltIn>,
  providers: Values["providers"]
): string => {
  const variable = ProviderTable.keyNames(providers.get(first.name)).join(" and ")
  const also =
    others.length === 0
      ? ""
      : ` There are keys for ${others.map(({ title }) => title).join(", ")} too: HOLDFAST_MODEL=${others[0]?.name}/${others[0]?.defaultModel} would choose one of them.`
  return `${variable} is set, so ${first.title} answers, with ${first.defaultModel}.${also}`
}

/** Why a model cannot be used, in one sentence or two; `undefined` if it can. A missing key is a problem of commands that run the service alone. */
export const refusalOf = (
  model: Target.Target,
  providers: Values["providers"],
  { describe }: SimulatedModels
): Omit<ConfigProblem, "place"> | undefined => {
  const provider = providers.get(model.provider)
  if (provider === undefined) {
    const known = `Known: ${[...providers.keys()].join(", ")}; others can be added under "providers".`
    const near = question(model.provider, providers.keys())
    return { message: `there is no provider ${Quote.of(model.provider)}.${near} ${known}` }
  }
  if (provider.type === "simulated") {
    return Result.match(describe(model.model), {
      onSuccess: () => undefined,
      onFailure: ({ message }) => ({ message })
    })
  }
  const missing = ProviderTable.missingKey(provider)
  if (missing === undefined) return undefined
  const message = `${Quote.clip(Target.format(model))} needs a key, and ${missing}. Export it, or choose another model.`
  return { message, isOfService: true }
}
