/**
 * The tool servers of a configuration, with what their variables stand for.
 *
 * T1. `${NAME}` in `env` and `headers` is the value of that variable; one that is not set is a problem, not an empty string.
 * T2. What came from a variable is a secret, and so is every header's value. What was written out in `env` is one when its
 *     name says so; otherwise it is most likely a setting, and taking `production` out of every log would help nobody.
 */
import { Duration, Redacted } from "effect"
import type { ToolServer, ToolServerReach } from "./Config.ts"
import * as Environment from "./Environment.ts"
import * as Problem from "./Problem.ts"
import * as Settings from "./Settings.ts"

export interface ToolTable {
  /** In the order in which they were written. */
  readonly servers: ReadonlyArray<ToolServer>
  /** The variables that were asked for. */
  readonly variables: ReadonlyArray<string>
  readonly problems: ReadonlyArray<Problem.Problem>
}

/** As long as most tools take, and a person waits. */
export const DEFAULT_TIMEOUT = Duration.seconds(60)

/** A first start by `npx` downloads the server. */
export const DEFAULT_START_TIMEOUT = Duration.seconds(30)

/** Some 16,000 tokens. */
export const DEFAULT_MAX_OUTPUT = 65_536

/** Builds the table. `absolute` makes a path of the file absolute. */
export const make = (
  settings: Readonly<Record<string, Settings.ToolServerSettings>>,
  environment: Environment.Environment,
  absolute: (path: string) => string
): ToolTable => {
  const problems: Array<Problem.Problem> = []
  const variables: Array<string> = []
  const servers = Object.entries(settings).flatMap(([name, entry]): ReadonlyArray<ToolServer> => {
    const place = Problem.formatPath(["tools", name])
    const secrets: Array<Redacted.Redacted> = []
    const expand = (key: "env" | "headers"): Readonly<Record<string, Redacted.Redacted>> =>
      Object.fromEntries(
        Object.entries(entry[key] ?? {}).map(([field, value]) => {
          const expanded = expansion(Redacted.value(value), environment)
          variables.push(...expanded.variables)
          secrets.push(...expanded.secrets)
          const whole = Redacted.make(expanded.text)
          if (key === "headers" || SECRET_NAME.test(field)) secrets.push(whole)
          const wrong = [
            ...expanded.problems,
            ...(key === "headers" && !Settings.HEADER_VALUE.test(expanded.text)
              ? ["what its variables stand for is no header's value: expected printable ASCII on one line."]
              : [])
          ]
          problems.push(
            ...wrong.map((message) => ({ place: Problem.formatPath(["tools", name, key, field]), message }))
          )
          return [field, whole]
        })
      )
    problems.push(...misplaced(place, entry))
    const reach = reachOf(entry, expand, absolute)
    if (reach === undefined) {
      problems.push({ place, message: "it has no command and no url. Expected one of the two." })
      return []
    }
    return [
      {
        name,
        reach,
        timeout: entry.timeout ?? DEFAULT_TIMEOUT,
        startTimeout: entry.startTimeout ?? DEFAULT_START_TIMEOUT,
        maxOutput: entry.maxOutput ?? DEFAULT_MAX_OUTPUT,
        idempotent: entry.idempotent ?? [],
        allow: entry.allow,
        deny: entry.deny ?? [],
        secrets
      }
    ]
  })
  return { servers, variables, problems }
}

// --- internal

/** T2 */
const SECRET_NAME = /key|token|secret|passw|credential|auth|cookie|pat$/i

const reachOf = (
  { args, command, cwd, url }: Settings.ToolServerSettings,
  expand: (key: "env" | "headers") => Readonly<Record<string, Redacted.Redacted>>,
  absolute: (path: string) => string
): ToolServerReach | undefined => {
  if (command !== undefined) {
    return {
      type: "stdio",
      command,
      args: args ?? [],
      env: expand("env"),
      cwd: cwd === undefined ? undefined : absolute(cwd)
    }
  }
  return url === undefined ? undefined : { type: "http", url, headers: expand("headers") }
}

/** Keys that mean nothing beside the others. */
const misplaced = (place: string, entry: Settings.ToolServerSettings): ReadonlyArray<Problem.Problem> => {
  if (entry.command !== undefined && entry.url !== undefined) {
    return [{ place: `${place}.url`, message: "there is a command too. Keep one of them." }]
  }
  const [keys, message] =
    entry.url === undefined
      ? ([["headers"], "a server that is started by its command has none. Expected env."] as const)
      : ([["args", "env", "cwd"], "a server that is reached by its url has none."] as const)
  return keys.filter((key) => entry[key] !== undefined).map((key) => ({ place: `${place}.${key}`, message }))
}

/** T1 */
const expansion = (text: string, environment: Environment.Environment) => {
  const problems: Array<string> = []
  const variables: Array<string> = []
  const secrets: Array<Redacted.Redacted> = []
  const expanded = text.replaceAll(/\$\{([A-Za-z_][A-Za-z0-9_]*)\}/g, (_, name: string) => {
    variables.push(name)
    const value = Environment.get(environment, name)
    if (value === undefined) problems.push(`the environment variable ${name} is not set.`)
    else secrets.push(Redacted.make(value))
    return value ?? ""
  })
  return { text: expanded, variables, secrets, problems }
}
