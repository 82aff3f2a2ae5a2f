/**
 * Writes the log to standard error, with every line redacted.
 *
 * - A line is redacted after it was formatted, so the redaction covers messages, annotations, causes and spans.
 * - One entry is one line of JSON in `json`; in `pretty` a cause follows its entry, indented.
 * - Text from outside (a tool server's last output, a provider's message) reaches a terminal without control characters.
 *
 * Standard output is for answers.
 */
import { Cause, Context, Formatter, Layer, Logger, type LogLevel, References } from "effect"
import * as Prose from "../../base/text/Prose.ts"
import * as Secrets from "./Secrets.ts"

/** The form of an entry. */
export type LogFormat = "pretty" | "json"

/** The only logger of the process. */
export const layer = (options: {
  readonly format: LogFormat
  readonly colors: boolean
  readonly write: (line: string) => void
}): Layer.Layer<never, never, Secrets.Secrets> =>
  Layer.unwrap(
    Secrets.Secrets.useSync(({ redact }) =>
      Logger.layer([
        options.format === "json"
          ? Logger.map(Logger.formatJson, (line) => options.write(`${Prose.inJson(redact(line))}\n`))
          : Logger.map(pretty(redact, options.colors), options.write)
      ])
    )
  )

/** Formats entries for people. */
export const pretty = (redact: (text: string) => string, colors: boolean): Logger.Logger<unknown, string> =>
  Logger.make(({ cause, date, fiber, logLevel, message }) => {
    const parts = Array.from(Array.isArray(message) ? message : [message], shown)
    for (const [name, value] of Object.entries(Context.get(fiber.context, References.CurrentLogAnnotations))) {
      parts.push(`${name}=${shown(value)}`)
    }
    const text = cause.reasons.length === 0 ? parts.join(" ") : `${parts.join(" ")}\n${Cause.pretty(cause)}`
    // Redact before the indentation: a secret may contain a line break.
    const entry = Prose.plain(redact(text)).replaceAll("\n", "\n  ")
    const level = logLevel.toUpperCase()
    const color = colors ? COLORS[logLevel] : undefined
    return `${date.toISOString().slice(11, 19)} ${color === undefined ? level : `${color}${level}${RESET}`} ${entry}\n`
  })

// --- internal

const RESET = "\u001b[0m"

const COLORS: { readonly [Level in LogLevel.LogLevel]?: string } = {
  Fatal: "\u001b[31m",
  Error: "\u001b[31m",
  Warn: "\u001b[33m",
  Info: "\u001b[32m"
}

const shown = (value: unknown): string => (typeof value === "string" ? value : Formatter.format(value))
