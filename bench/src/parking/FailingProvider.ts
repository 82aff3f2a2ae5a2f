/** A provider that is never there, and knows who has asked it, and when. */
import { createServer } from "node:http"

export type FailingProvider = Awaited<ReturnType<typeof start>>

/** Answers 529 at once, and notes when it was asked by which prompt. */
export const start = async () => {
  const listeners: Array<(body: string) => void> = []
  const server = createServer((request, response) => {
    let body = ""
    request.on("data", (chunk: Buffer) => (body += chunk.toString()))
    request.on("end", () => {
      for (const hear of listeners) hear(body)
      response.writeHead(529, { "content-type": "application/json" })
      response.end('{"error":{"type":"overloaded_error","message":"Overloaded"}}')
    })
  })
  await new Promise<void>((resolve) => server.listen({ port: 0, host: "127.0.0.1", backlog: 4_096 }, resolve))
  const address = server.address()
  return {
    port: typeof address === "object" ? (address?.port ?? 0) : 0,
    close: () => {
      server.close()
      server.closeAllConnections()
    },
    /** How late each of these turns' requests comes, in milliseconds; a turn is known by its prompt. */
    expect: (dueAt: ReadonlyMap<string, number>) =>
      new Promise<Array<number>>((resolve) => {
        const lags: Array<number> = []
        listeners.push((body) => {
          const prompt = /wait for me (\S+?)"/.exec(body)?.[1] ?? ""
          const due = dueAt.get(prompt)
          if (due !== undefined) lags.push(Math.max(0, Date.now() - due))
          if (lags.length === dueAt.size) resolve(lags)
        })
      })
  }
}
