/** Settings of tool servers for tests, and the programs of two servers. */
import * as Duration from "effect/Duration"
import * as Redacted from "effect/Redacted"
import { createRequire } from "node:module"
import * as path from "node:path"
import type { ToolServerConfig } from "../src/ToolServerConfig.ts"

/** The whole configuration of a server. */
export const server = (name: string, given: Partial<ToolServerConfig> = {}): ToolServerConfig => ({
  name,
  reach: { type: "stdio", command: process.execPath, args: [UNRULY], env: {}, cwd: undefined },
  timeout: Duration.seconds(60),
  startTimeout: Duration.seconds(30),
  isRequired: false,
  maxOutput: 65_536,
  idempotent: [],
  confirm: [],
  answerWithin: Duration.hours(8),
  allow: undefined,
  deny: [],
  secrets: [],
  ...given
})

/** The program of a server that misbehaves in the mode of its argument. */
export const UNRULY = path.join(import.meta.dirname, "UnrulyServer.ts")

/** The unruly server, in some of its modes, as a configuration file has it. */
export const unrulyEntry = (...modes: ReadonlyArray<string>) => ({
  command: process.execPath,
  args: [UNRULY, ...modes]
})

/** The same, resolved. */
export const unruly = (
  modes: ReadonlyArray<string>,
  env: Readonly<Record<string, string>> = {}
): ToolServerConfig["reach"] => ({
  type: "stdio",
  ...unrulyEntry(...modes),
  env: Object.fromEntries(Object.entries(env).map(([name, value]) => [name, Redacted.make(value)])),
  cwd: undefined
})

/** The program of MCP's own server for tests of clients, from the registry. */
export const EVERYTHING = path.join(
  path.dirname(createRequire(import.meta.url).resolve("@modelcontextprotocol/server-everything/package.json")),
  "dist/index.js"
)

/** A tool call of a model. */
export const call = (toolName: string, input: { readonly [key: string]: string | number | boolean } = {}) =>
  ({ type: "tool-call", toolCallId: `call-${toolName}`, toolName, input }) as const

/** Replaces the secrets in a text by `[redacted]`. */
export const concealing =
  (secrets: ReadonlyArray<Redacted.Redacted>) =>
  (text: string): string =>
    secrets.reduce((concealed, secret) => concealed.replaceAll(Redacted.value(secret), "[redacted]"), text)
