/** Holds the tokens of an attempt back from callbacks until one of them is content, so that callbacks get nothing of an attempt that fails before it. */
import { isContentChunk } from "./Chunks.ts"

type NewToken = (token: string, ...rest: ReadonlyArray<unknown>) => Promise<unknown>

/** The run manager of one attempt. */
export class HeldTokens {
  /** Whether callbacks have content. */
  isShown = false
  /** For the model, in place of LangChain's. */
  readonly runManager: object | undefined
  private held: Array<() => Promise<unknown>> = []

  constructor(runManager: object | undefined) {
    if (runManager === undefined) return
    const newToken: NewToken = (Reflect.get(runManager, "handleLLMNewToken") as NewToken).bind(runManager)
    this.runManager = Object.create(runManager, {
      handleLLMNewToken: {
        value: async (token: string, ...rest: ReadonlyArray<unknown>): Promise<void> => {
          this.held.push(() => newToken(token, ...rest))
          const { chunk = {} } = (rest.at(-1) ?? {}) as { readonly chunk?: unknown }
          if (this.isShown || token !== "" || isContentChunk(chunk)) await this.release()
        }
      }
    })
  }

  /** Lets callbacks have what was held back. */
  async release(): Promise<void> {
    const held = this.held
    this.held = []
    this.isShown ||= held.length > 0
    for (const tell of held) await tell()
  }
}
