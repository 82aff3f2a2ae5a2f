/**
 * Makes a provider of a wire format: what its files, body and endpoint are. One attempt is one request (C9), over `transport/HttpAttempt.ts`.
 *
 * Its failures are classified there, and nowhere else (C1).
 */
import type { Provider } from "@holdfast/kernel"
import { ProviderCall, ResponseLimit } from "@holdfast/kernel/host"
import * as Effect from "effect/Effect"
import type { Machine } from "./decoding/Protocol.ts"
import * as Endpoint from "./http/Endpoint.ts"
import * as Http from "./http/Http.ts"
import * as Files from "./requests/Files.ts"
import * as PromptParts from "./requests/PromptParts.ts"
import * as HttpAttempt from "./transport/HttpAttempt.ts"

/** A wire format. */
interface Format {
  readonly refuses: Files.Refuses
  readonly bodyOf: (request: Provider.ProviderRequest) => unknown
  /** `idOf` gives an id to the nth tool call where the endpoint gave none. */
  readonly machineOf: (idOf: (n: number) => string) => Machine
}

/** A format at its endpoints. */
export interface EndpointFormat extends Format {
  /** The path of a model's endpoint, behind the base URL. */
  readonly pathOf: (model: string) => string
  /** The headers that carry the key. */
  readonly authorize: (key: string) => Readonly<Record<string, string>>
}

/** A provider over the HTTP port. */
export type Making = Effect.Effect<Provider.Provider["Service"], never, Http.Http>

/** Makes a provider. One attempt is one request (C9). */
export const make = (options: Endpoint.Options, { authorize, pathOf, ...format }: EndpointFormat): Making =>
  Effect.map(Http.Http, (http) => {
    const endpoints = new Map<string, Endpoint.Endpoint>()
    return provider(format, ({ target }) => {
      const path = pathOf(target.model)
      const endpoint = endpoints.get(path) ?? Endpoint.make(http, options, path, authorize)
      endpoints.set(path, endpoint)
      return endpoint
    })
  })

/** The header of a key, for most endpoints. */
export const bearer = (key: string): Readonly<Record<string, string>> => ({ authorization: `Bearer ${key}` })

/** A provider of a wire format, over prepared endpoints. */
export const provider = (
  { bodyOf, machineOf, refuses }: Format,
  endpointOf: (request: Provider.ProviderRequest) => Endpoint.Endpoint
): Provider.Provider["Service"] =>
  ProviderCall.provider((request, world, listener) => {
    const refused = Files.refusalOf(request, refuses)
    if (refused !== undefined) return ProviderCall.refuse(listener, refused)
    const { conceal, post } = endpointOf(request)
    const options = {
      conceal,
      post: (listener: Http.Listener) => post(bodyOf(request), listener),
      machine: machineWith(machineOf, PromptParts.callId(request)),
      most: ResponseLimit.of(request)
    }
    return HttpAttempt.begin(options, world, listener)
  })

// --- internal

/** In a function of its own (`ProviderCall`). */
const machineWith = (machineOf: Format["machineOf"], idOf: (n: number) => string) => (): Machine => machineOf(idOf)
