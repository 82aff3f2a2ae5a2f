/** Two ends of the HTTP port for tests: `post` makes a call over a client and returns the whole response; `given` is a client whose response the test gives. */
import { Effect } from "effect"
import type * as Http from "../../src/http/Http.ts"

/** A whole response. */
export interface Posted extends Http.Head {
  readonly body: string
  /** The body, read by read. */
  readonly reads: ReadonlyArray<string>
}

/** Posts an empty object; fails with the error of its connection. An interruption closes the call. */
export const post = (
  http: Http.Http["Service"],
  url: string,
  headers: Readonly<Record<string, string>> = {}
): Effect.Effect<Posted, unknown> =>
  Effect.callback((resume) => {
    let head: Http.Head = { status: 0, headers: {} }
    const reads: Array<string> = []
    const call = http.endpoint(url, headers)("{}", {
      head: (given) => void (head = given),
      data: (bytes) => reads.push(Buffer.from(bytes).toString()) > 0,
      end: () => resume(Effect.succeed({ ...head, reads, body: reads.join("") })),
      broken: (cause) => resume(Effect.fail(cause))
    })
    return Effect.sync(call.close)
  })

/** A client for one call, whose response a test gives. */
export const given = () => {
  let listener: Http.Listener | undefined
  const calls = { posts: 0, resumes: 0, closes: 0 }
  const to = (): Http.Listener => {
    if (listener === undefined) throw new Error("Nothing was posted.")
    return listener
  }
  return {
    calls,
    post: (taken: Http.Listener): Http.Call => {
      listener = taken
      calls.posts++
      return { resume: () => void calls.resumes++, close: () => void calls.closes++ }
    },
    head: (status = 200, headers: Http.Head["headers"] = {}) => to().head({ status, headers }),
    data: (bytes: string | Uint8Array) =>
      to().data(typeof bytes === "string" ? new TextEncoder().encode(bytes) : bytes),
    end: () => to().end(),
    broken: (cause: unknown) => to().broken(cause),
    /** What came is read. */
    read: Effect.promise(async () => {
      for (let n = 0; n < 4; n++) await undefined
    })
  }
}
