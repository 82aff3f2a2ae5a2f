/**
 * Models by name, such as `openai/gpt-5`: the built-in providers, with the keys of the environment, over the runtime's own `fetch`.
 *
 * A request goes to the provider that its target names, so a turn can be switched to any other that has a key.
 */
import type { Provider } from "@holdfast/kernel"
import { ProviderCall } from "@holdfast/kernel/host"
import { Anthropic, BuiltIn, Http, OpenAiCompatible } from "@holdfast/providers"
import * as Fetch from "@holdfast/providers/fetch"
import type { Target } from "@holdfast/wire"
import * as Effect from "effect/Effect"
import * as Redacted from "effect/Redacted"
import { invalid, messageOf } from "../HoldfastError.ts"

/** The variables of a process. */
export type Variables = { readonly [name: string]: string | undefined }

/** The provider of all known models. Throws a `HoldfastError` where the first target has none, or no key. */
export const make = (environment: Variables, first: Target.Target): Provider.Provider["Service"] => {
  const made = new Map<string, Provider.Provider["Service"]>()
  const of = (name: string): Provider.Provider["Service"] => {
    const known = made.get(name) ?? provider(name, environment)
    made.set(name, known)
    return known
  }
  of(first.provider)
  return ProviderCall.provider((request, world, listener) => {
    try {
      return ProviderCall.of(of(request.target.provider))(request, world, listener)
    } catch (error) {
      const failure = { reason: "model-unavailable", message: messageOf(error), retryable: false } as const
      return ProviderCall.refuse(listener, { type: "error", failure })
    }
  })
}

// --- internal

/** The global `fetch`, which is looked up at each call. Made without its layer: a bundle has no layers then. */
const HTTP = Fetch.make((url, init) => fetch(url, init))

const provider = (name: string, environment: Variables): Provider.Provider["Service"] => {
  const builtIn = BuiltIn.find(name)
  if (builtIn === undefined) {
    const names = BuiltIn.builtIns.map(({ name }) => name).join(", ")
    throw invalid(`model: "${name}" is no known provider. Known: ${names}. Others are a function of yours.`)
  }
  const { apiKeyEnv, baseUrl, baseUrlEnv, type } = builtIn
  const key = apiKeyEnv.map((variable) => environment[variable]).find((value) => value !== undefined && value !== "")
  if (key === undefined) throw invalid(`model: "${name}" needs a key in ${apiKeyEnv.join(" or ")}.`)
  const address = baseUrlEnv === undefined ? undefined : environment[baseUrlEnv]
  const options = { baseUrl: address === undefined || address === "" ? baseUrl : address, apiKey: Redacted.make(key) }
  const adapter = type === "anthropic" ? Anthropic.make(options) : OpenAiCompatible.make(options)
  return Effect.runSync(Effect.provideService(adapter, Http.Http, HTTP))
}
