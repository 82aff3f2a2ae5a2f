/**
 * Builds the table of tool servers, with their variables expanded.
 *
 * ToolTable.T1. `${NAME}` in `env` and `headers` is the value of that variable (`Expansion`).
 * ToolTable.T2. The value of a variable is a secret, and so is every header's value. A literal value in `env` is a secret if its name suggests
 *     one; otherwise it is most likely a setting, and redacting `production` in every log would not help.
 */
import { Duration, type Redacted } from "effect"
import type { ToolServer, ToolServerReach } from "./Config.ts"
import type * as Environment from "./reading/Environment.ts"
import * as Expansion from "./reading/Expansion.ts"
import * as Problem from "./reading/Problem.ts"
import type * as Settings from "./reading/Settings.ts"

/** The tool servers, with the problems of their entries. */
export interface ToolTable {
  /** In the order of the file. */
  readonly servers: ReadonlyArray<ToolServer>
  /** The variables that the entries name. */
  readonly variables: ReadonlyArray<string>
  readonly problems: ReadonlyArray<Problem.Problem>
}

/** The default limit of a call: most tools are faster, and a person waits this long. */
export const DEFAULT_TIMEOUT = Duration.seconds(60)

/** The default limit of a start: the first start by `npx` downloads the server. */
export const DEFAULT_START_TIMEOUT = Duration.seconds(30)

/** The default limit of an output in bytes: some 16,000 tokens. */
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
    const expand = (key: "env" | "headers"): Readonly<Record<string, Redacted.Redacted>> => {
      const kind = key === "headers" ? "headers" : "variables"
      const expanded = Expansion.record(entry[key] ?? {}, environment, ["tools", name, key], kind)
      variables.push(...expanded.variables)
      problems.push(...expanded.problems)
      secrets.push(...expanded.secrets)
      for (const [field, whole] of Object.entries(expanded.values)) {
        if (key === "headers" || SECRET_NAME.test(field)) secrets.push(whole)
      }
      return expanded.values
    }
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
        isRequired: entry.required ?? false,
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

/** ToolTable.T2 */
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

/** The problems of keys that do not apply beside the others. */
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
