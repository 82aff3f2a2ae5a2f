/**
 * Builds the table of tool servers, with their variables expanded.
 *
 * The value of a variable is a secret, and so is every header's value. A literal value in `env` is a secret if its name suggests one;
 * otherwise it is most likely a setting, and redacting `production` in every log would not help.
 */
import type { ToolServerConfig, ToolServerReach } from "@holdfast/mcp"
import type { Redacted } from "effect"
import * as ConfigProblem from "./reading/ConfigProblem.ts"
import { expansionOf, type Findings } from "./reading/Expansion.ts"
import * as Settings from "./reading/Settings.ts"
import { SECRET_NAME } from "./reading/SettingTypes.ts"

/** Builds the table, in the order of the file. */
export const make = (
  settings: Readonly<Record<string, Settings.ToolServerSettings>>,
  findings: Findings
): ReadonlyArray<ToolServerConfig> =>
  Object.entries(settings).flatMap(([name, entry]): ReadonlyArray<ToolServerConfig> => {
    const path = ["tools", name]
    const place = ConfigProblem.formatPath(path)
    const expansion = expansionOf(findings)
    const literals: Array<Redacted.Redacted> = []
    const { allow, args, command, cwd, env, headers, required, url, ...plain } = { ...Settings.DEFAULTS.tool, ...entry }
    findings.problems.push(...misplaced(place, entry))
    let reach: ToolServerReach
    if (command !== undefined) {
      const values = expansion.record(env, [...path, "env"], "variables")
      literals.push(...Object.entries(values).flatMap(([key, value]) => (SECRET_NAME.test(key) ? [value] : [])))
      reach = { type: "stdio", command, args, env: values, cwd: cwd === undefined ? undefined : findings.absolute(cwd) }
    } else if (url !== undefined) {
      reach = { type: "http", url, headers: expansion.record(headers, [...path, "headers"], "headers") }
      literals.push(...Object.values(reach.headers))
    } else {
      findings.problems.push({ place, message: "it has no command and no url. Expected one of the two." })
      return []
    }
    return [{ ...plain, name, reach, isRequired: required, allow, secrets: [...expansion.secrets, ...literals] }]
  })

// --- internal

/** The problems of keys that do not apply beside the others. */
const misplaced = (place: string, entry: Settings.ToolServerSettings): ReadonlyArray<ConfigProblem.ConfigProblem> => {
  if (entry.command !== undefined && entry.url !== undefined) {
    return [{ place: `${place}.url`, message: "there is a command too. Keep one of them." }]
  }
  const [keys, message] =
    entry.url === undefined
      ? ([["headers"], "a server that is started by its command has none. Expected env."] as const)
      : ([["args", "env", "cwd"], "a server that is reached by its url has none."] as const)
  return keys.filter((key) => entry[key] !== undefined).map((key) => ({ place: `${place}.${key}`, message }))
}
