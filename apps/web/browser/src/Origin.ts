/** Documents of a provider below `/to/`, which are no pages of Holdfast's origin. */
import * as Http from "node:http"
import type { AddressInfo } from "node:net"
import * as Service from "../../../../tools/src/acceptance/Service.ts"
import { same, show } from "../../../../tools/src/acceptance/Report.ts"
import type { Rig } from "./Rig.ts"

const DOCUMENT = "<!doctype html><title>before</title><script>document.title = 'after'</script>"

export const run = (rig: Rig) =>
  show(
    "a provider's document is no page of this origin: no script of it runs, and it leaves nothing behind",
    async () => {
      const asked: Array<string> = []
      const provider = await listening((request, response) => {
        asked.push(request.url ?? "")
        const isScript = request.url?.endsWith(".js") === true
        response.writeHead(200, {
          "content-type": isScript ? "text/javascript" : "text/html",
          "service-worker-allowed": "/",
          "set-cookie": "sid=1; Path=/"
        })
        response.end(isScript ? "self.onfetch = () => {}" : DOCUMENT)
      })
      const providers = { evil: { type: "openai-compatible", baseUrl: provider.url } }
      const service = await Service.make(rig.program, { model: "simulated/steady", providers })
      // As a browser of before `Sec-Fetch-*`.
      const older = await listening((request, response) => {
        const headers = Object.entries(request.headers).filter(([name]) => !name.startsWith("sec-fetch-"))
        const to = Http.request(service.url + request.url, { headers: Object.fromEntries(headers) }, (answer) => {
          response.writeHead(answer.statusCode ?? 0, answer.headers)
          answer.pipe(response)
        })
        to.end()
      })
      try {
        await service.start()
        // Not watched: what the browser refuses stands in its console.
        const page = await rig.browser.newPage()
        same((await page.goto(`${service.url}/to/evil/page.html`))?.status(), 403, "the status of a navigation")
        await page.goto(`${service.url}/healthz`)
        const register = `navigator.serviceWorker.register("/to/evil/worker.js", { scope: "/" })`
        same(
          await page.evaluate(`${register}.then(() => "registered", () => "refused")`),
          "refused",
          "a service worker"
        )
        same(asked, [], "requests that reached the provider")
        same(await page.evaluate(`fetch("/to/evil/page.html").then(({ status }) => status)`), 200, "a call of the page")
        same((await page.goto(`${older.url}/to/evil/page.html`))?.status(), 200, "a navigation of an older browser")
        same(await page.title(), "before", "the title, which its script would change")
        same(await page.context().cookies(), [], "cookies")
        await page.context().close()
      } finally {
        await service.remove()
        provider.close()
        older.close()
      }
    }
  )

// --- internal

const listening = async (answer: Http.RequestListener) => {
  const server = Http.createServer(answer)
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve))
  const close = (): void => {
    server.closeAllConnections()
    server.close()
  }
  return { close, url: `http://127.0.0.1:${(server.address() as AddressInfo).port}` }
}
