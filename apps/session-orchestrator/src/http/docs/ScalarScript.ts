/**
 * The script of Scalar, the reader of the API page, as a file to serve.
 *
 * `effect` carries the script, inside of the page that `HttpApiScalar.layer` renders; it has no other public way to it. That page has
 * the script inline, which a strict policy forbids, so the script is cut out of it.
 *
 * S1. It is read at the first visit, not at the start, and compressed once, on a thread of its own. That takes 0.2 s of CPU, and turns
 *     stand still for 10 to 70 ms of it. Only the compressed form is kept here (0.9 MB); the module that has the text stays loaded, as
 *     modules do. The process is some 35 MB larger from then on.
 */
import { HttpRouter } from "effect/http"
import { HttpApi } from "effect/http-api"
import * as StaticFile from "./StaticFile.ts"

/** The script. A failed read is not kept: the next call tries again. */
export const load = (): Promise<StaticFile.StaticFile> =>
  (loading ??= read().catch((error: unknown) => {
    loading = undefined
    throw error
  }))

/** The first script that a page has inline. */
export const cut = (html: string): string => {
  const from = html.indexOf(OPEN)
  const to = html.indexOf(CLOSE, from)
  if (from === -1 || to === -1) throw new Error("The page of effect's HttpApiScalar has no inline script to cut out.")
  return html.slice(from + OPEN.length, to)
}

// --- internal

const OPEN = "<script>"
const CLOSE = "</script>"

let loading: Promise<StaticFile.StaticFile> | undefined = undefined

const read = async (): Promise<StaticFile.StaticFile> => {
  const { layer } = await import("effect/http-api/HttpApiScalar")
  const { dispose, handler } = HttpRouter.toWebHandler(layer(HttpApi.make("empty"), { path: "/" }), {
    disableLogger: true
  })
  try {
    const page = await handler(new Request("http://localhost/"))
    return await StaticFile.make(cut(await page.text()))
  } finally {
    await dispose()
  }
}
