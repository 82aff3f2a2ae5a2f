/** Describes the servers of a configuration in a line each, without secrets: providers, and servers of tools. Pure. */
import type { ToolServerConfig } from "@holdfast/mcp"
import type { Allowance } from "@holdfast/policy"
import { Duration } from "effect"
import type { ProviderConfig, RequestOptions } from "../../config/Config.ts"
import * as Secrets from "../../redaction/Secrets.ts"

/** The address or the command of a tool server, without the values of its variables, headers and arguments that are secrets. */
export const toolsOf = ({ reach, timeout }: ToolServerConfig, { redact }: Secrets.Secrets["Service"]): string => {
  const [how, secrets] =
    reach.type === "http"
      ? [reach.url, Object.keys(reach.headers).map((name) => `${name}: ${Secrets.PLACEHOLDER}`)]
      : [
          [reach.command, ...withoutSecrets(reach.args)].join(" "),
          Object.keys(reach.env).map((name) => `${name}=${Secrets.PLACEHOLDER}`)
        ]
  return [redact(how), ...secrets, `${Duration.format(timeout)} a call`].join(", ")
}

/** A provider with its address and the names of its keys, headers, limits and additions, without their values. */
export const providerOf = (provider: ProviderConfig, secrets: Secrets.Secrets["Service"]): string => {
  if (provider.type === "simulated") return "simulated"
  const set = provider.credentials.map(({ name }) => `${name}=${Secrets.PLACEHOLDER}`)
  const unset = provider.apiKeyEnv
    .filter((name) => !provider.credentials.some((credential) => credential.name === name))
    .map((name) => `${name} not set`)
  const headers = Object.keys(provider.headers).map((name) => `${name}: ${Secrets.PLACEHOLDER}`)
  return [
    secrets.redact(
      [
        provider.type,
        ...(provider.type === "ai-sdk"
          ? [provider.package, ...(provider.factory === undefined ? [] : [provider.factory])]
          : []),
        ...(provider.baseUrl === undefined ? [] : [`at ${provider.baseUrl}`])
      ].join(" ")
    ),
    ...set,
    ...unset,
    ...headers,
    ...(provider.type === "ai-sdk" ? provider.optionNames.map((name) => `${name}: ${Secrets.PLACEHOLDER}`) : []),
    ...limitsOf(provider.limits),
    ...requestOf(provider.request).map(secrets.redact)
  ].join(", ")
}

// --- internal

/** Arguments whose values are secrets: keys, and headers that may have one. `-H` is a header. */
const SECRET_ARGUMENT = /^(?:-H$|--?[\w-]*(?:key|token|secret|passw|auth|credential|cookie|header)[\w-]*)/i

const withoutSecrets = (args: ReadonlyArray<string>): ReadonlyArray<string> =>
  args.map((arg, i) => {
    const before = args[i - 1] ?? ""
    if (SECRET_ARGUMENT.exec(before)?.[0] === before) return Secrets.PLACEHOLDER
    const [name] = SECRET_ARGUMENT.exec(arg) ?? []
    return name !== undefined && name !== arg ? `${name}=${Secrets.PLACEHOLDER}` : arg
  })

const limitsOf = ({ calls, requestsPerMinute, tokensPerMinute }: Allowance.Allowance = {}): ReadonlyArray<string> => [
  ...(calls === undefined ? [] : [`${calls} calls at once`]),
  ...(requestsPerMinute === undefined ? [] : [`${requestsPerMinute} requests a minute`]),
  ...(tokensPerMinute === undefined ? [] : [`${tokensPerMinute} tokens a minute`])
]

/** The operator's additions to requests. */
const requestOf = (request: RequestOptions | undefined): ReadonlyArray<string> => {
  if (request === undefined) return []
  const { body, maxTokens, modelBody, promptCaching } = request
  return [
    ...(maxTokens === undefined ? [] : [`${maxTokens} tokens an answer`]),
    ...(promptCaching === undefined ? [] : [promptCaching ? "prompt caching" : "no prompt caching"]),
    ...(body === undefined ? [] : [`body ${JSON.stringify(body)}`]),
    ...Array.from(modelBody, ([model, body]) => `body of ${model} ${JSON.stringify(body)}`)
  ]
}
