/**
 * Loads the script of Scalar, which renders the API page, as a file to serve.
 *
 * `effect` contains the script inside the page that `HttpApiScalar.layer` renders; it has no other public access to it. That page has
 * the script inline, which a strict content security policy forbids, so the script is cut out of the page.
 *
 * ScalarScript.S1. The script is loaded at the first visit, not at the start, and compressed once on another thread. That takes 0.2 s of
 *     CPU time and stops turns for 10 to 70 ms. Only the compressed form is kept here (0.9 MB); the module with the text stays loaded, like
 *     every module. The process is some 35 MB larger from then on.
 */
import { HttpRouter } from "effect/http"
import { HttpApi } from "effect/http-api"
import * as StaticFile from "../body/StaticFile.ts"

/** Loads the script. A failure is not kept: the next call tries again. */
export const load = (): Promise<StaticFile.StaticFile> =>
  (loading ??= read().catch((error: unknown) => {
    loading = undefined
    throw error
  }))

/** The first inline script of a page. Throws if there is none. */
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
