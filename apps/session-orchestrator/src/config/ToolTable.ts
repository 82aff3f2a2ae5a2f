/**
 * Builds the table of tool servers, with their variables expanded.
 *
 * `${NAME}` in `env` and `headers` is the value of that variable (`Expansion`). The value of a variable is a secret, and so is every
 * header's value. A literal value in `env` is a secret if its name suggests one; otherwise it is most likely a setting, and redacting
 * `production` in every log would not help.
 */
import { Duration, type Redacted } from "effect"
import type { ToolServerConfig, ToolServerReach } from "@holdfast/mcp"
import type * as Environment from "./reading/Environment.ts"
import * as Expansion from "./reading/Expansion.ts"
import * as ConfigProblem from "./reading/ConfigProblem.ts"
import * as Settings from "./reading/Settings.ts"

/** The tool servers, with the problems of their entries. */
export interface ToolTable {
  /** In the order of the file. */
  readonly servers: ReadonlyArray<ToolServerConfig>
  /** The variables that the entries name. */
  readonly variables: ReadonlyArray<string>
  readonly problems: ReadonlyArray<ConfigProblem.Problem>
}

/** The defaults of plain keys. A key that is missing here does not compile. */
export const DEFAULTS: Settings.PlainTool = {
  // Most tools are faster, and a person waits this long.
  timeout: Duration.seconds(60),
  // The first start by `npx` downloads the server.
  startTimeout: Duration.seconds(30),
  // Bytes: some 16,000 tokens.
  maxOutput: 65_536,
  idempotent: [],
  confirm: [],
  // A question at night can be answered in the morning.
  answerWithin: Duration.hours(8),
  deny: []
}

/** Builds the table. `absolute` makes a path of the file absolute. */
export const make = (
  settings: Readonly<Record<string, Settings.ToolServerSettings>>,
  environment: Environment.Environment,
  absolute: (path: string) => string
): ToolTable => {
  const problems: Array<ConfigProblem.Problem> = []
  const variables: Array<string> = []
  const servers = Object.entries(settings).flatMap(([name, entry]): ReadonlyArray<ToolServerConfig> => {
    const place = ConfigProblem.formatPath(["tools", name])
    const secrets: Array<Redacted.Redacted> = []
    const expand = (key: "env" | "headers"): Readonly<Record<string, Redacted.Redacted>> => {
      const kind = key === "headers" ? "headers" : "variables"
      const expanded = Expansion.record(entry[key] ?? {}, environment, ["tools", name, key], kind)
      variables.push(...expanded.variables)
      problems.push(...expanded.problems)
      secrets.push(...expanded.secrets)
      for (const [field, whole] of Object.entries(expanded.values)) {
        if (key === "headers" || Settings.SECRET_NAME.test(field)) secrets.push(whole)
      }
      return expanded.values
    }
    const {
      allow,
      args: _args,
      command: _command,
      cwd: _cwd,
      env: _env,
      headers: _headers,
      required,
      url: _url,
      ...plain
    } = entry
    problems.push(...misplaced(place, entry))
    const reach = reachOf(entry, expand, absolute)
    if (reach === undefined) {
      problems.push({ place, message: "it has no command and no url. Expected one of the two." })
      return []
    }
    return [
      {
        ...DEFAULTS,
        ...plain,
        name,
        reach,
        isRequired: required ?? false,
        allow,
        secrets
      }
    ]
  })
  return { servers, variables, problems }
}

// --- internal

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
const misplaced = (place: string, entry: Settings.ToolServerSettings): ReadonlyArray<ConfigProblem.Problem> => {
  if (entry.command !== undefined && entry.url !== undefined) {
    return [{ place: `${place}.url`, message: "there is a command too. Keep one of them." }]
  }
  const [keys, message] =
    entry.url === undefined
      ? ([["headers"], "a server that is started by its command has none. Expected env."] as const)
      : ([["args", "env", "cwd"], "a server that is reached by its url has none."] as const)
  return keys.filter((key) => entry[key] !== undefined).map((key) => ({ place: `${place}.${key}`, message }))
}
