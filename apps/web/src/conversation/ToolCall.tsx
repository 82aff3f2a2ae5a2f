/** A tool call, folded: its name and state, and inside its arguments and its result, as text. */
import type { CallResult } from "./Results.ts"

interface ToolCallProps {
  readonly toolName: string
  readonly input: unknown
  /** Why the arguments could not be read. */
  readonly malformed?: string | undefined
  readonly result: CallResult | undefined
}

/** A folded call. */
export const ToolCall = ({ input, malformed, result, toolName }: ToolCallProps) => {
  const state = result?.state ?? "running"
  return (
    <details className="tool">
      <summary>
        <code>{toolName}</code> <span className={`tool-state ${state}`}>{STATES[state]}</span>
      </summary>
      {malformed !== undefined && <p className="error-text">The arguments could not be read: {malformed}</p>}
      <h3>Arguments</h3>
      <pre tabIndex={0} role="region" aria-label={`Arguments of ${toolName}`}>
        {textOf(input)}
      </pre>
      {result !== undefined && result.state !== "running" && (
        <>
          <h3>{result.state === "failed" ? "Error" : "Result"}</h3>
          <pre tabIndex={0} role="region" aria-label={`Result of ${toolName}`}>
            {textOf(result.output)}
          </pre>
        </>
      )}
    </details>
  )
}

// --- internal

const STATES = { running: "running", succeeded: "done", failed: "failed" } as const

const textOf = (value: unknown): string => (typeof value === "string" ? value : JSON.stringify(value, null, 2))
