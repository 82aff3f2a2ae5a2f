/** Pages without anything of ours, for figures to stand beside: a static page, a text that streams, clocks, and long lists. */
import { createServer } from "node:http"
import type { AddressInfo } from "node:net"
import { setTimeout as sleep } from "node:timers/promises"
import { gzipSync } from "node:zlib"

/** The pages. */
export interface BarePages {
  readonly url: string
  readonly close: () => void
}

/** Lines of `/clocks` that change each second. */
export const CLOCKS = 40

interface Options {
  /** The bytes of the script of `/static`. */
  readonly scriptBytes: number
  readonly styleBytes: number
  /** The pieces that `/stream` shows, and how many milliseconds lie between them. */
  readonly pieces: ReadonlyArray<string>
  readonly everyMs: number
  /** The texts of `/list`; `/rows` has half of them. */
  readonly texts: ReadonlyArray<string>
}

export const start = async ({ everyMs, pieces, scriptBytes, styleBytes, texts }: Options): Promise<BarePages> => {
  const files: Readonly<Record<string, readonly [type: string, text: string]>> = {
    // Its text is in the document; a script of the same size has to be read, and adds one element.
    "/static": [
      "text/html",
      '<!doctype html><link rel="stylesheet" href="/style.css"><div id="page">There</div><script type="module" src="/script.js"></script>'
    ],
    "/script.js": [
      "text/javascript",
      `const ready = document.createElement("p")
       ready.id = "ready"
       document.body.append(ready)
       const unused = "${"0123456789".repeat(scriptBytes / 10)}"`
    ],
    "/style.css": ["text/css", `/*${"0123456789".repeat(styleBytes / 10)}*/ body { margin: 0 }`],
    "/stream": ["text/html", '<!doctype html><pre id="text"></pre><script type="module" src="/stream.js"></script>'],
    "/stream.js": [
      "text/javascript",
      `const text = document.querySelector("#text")
       const events = new EventSource("/events")
       events.onmessage = ({ data }) => { text.append(JSON.parse(data)) }
       events.addEventListener("end", () => { events.close(); document.title = "ended" })`
    ],
    "/clocks": [
      "text/html",
      `<!doctype html>${"<p>0</p>".repeat(CLOCKS)}<script type="module" src="/clocks.js"></script>`
    ],
    "/clocks.js": [
      "text/javascript",
      `const began = Date.now()
       setInterval(() => {
         for (const line of document.querySelectorAll("p")) line.firstChild.data = String(Math.round((Date.now() - began) / 1000))
       }, 1000)`
    ],
    "/list": ["text/html", listOf(texts.map((text) => `<p>${text}</p>`))],
    "/rows": [
      "text/html",
      listOf(texts.map((text) => `<p style="height:46px;margin:0">${text}</p>`).slice(texts.length / 2))
    ]
  }
  const server = createServer((request, response) => {
    void (async () => {
      const file = files[request.url ?? ""]
      if (file !== undefined) {
        response.writeHead(200, { "content-type": file[0], "content-encoding": "gzip" })
        response.end(gzipSync(file[1]))
      } else if (request.url === "/events") {
        response.writeHead(200, { "content-type": "text/event-stream" })
        const beganAt = performance.now()
        for (const [index, piece] of pieces.entries()) {
          await sleep(Math.max(0, beganAt + index * everyMs - performance.now()))
          response.write(`data: ${JSON.stringify(piece)}\n\n`)
        }
        response.end("event: end\ndata: 0\n\n")
      } else response.writeHead(404).end()
    })()
  })
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve))
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    close: () => {
      server.closeAllConnections()
      server.close()
    }
  }
}

// --- internal

const listOf = (entries: ReadonlyArray<string>): string =>
  `<!doctype html><div id="list" style="height:100vh;overflow-y:auto">${entries.join("")}</div>`
