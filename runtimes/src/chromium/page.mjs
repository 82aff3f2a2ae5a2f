/** The program of a page: `/page?model=MODEL&life=LIFE`. Its turn is kept in IndexedDB; each line that it prints is a POST to its own origin. */
import { cutCall, scenario } from "../scenario/Scenario.mjs"

const parameters = new URLSearchParams(location.search)
const [model, life] = [parameters.get("model"), parameters.get("life")]
const url = `${location.origin}/`

let printed = Promise.resolve()
const print = (line) => (printed = printed.then(() => fetch("/printed", { method: "POST", body: line })))

const settled = (request, event) =>
  new Promise((resolve, reject) => {
    request.addEventListener(event, () => resolve(request.result))
    for (const failure of ["error", "abort"]) request.addEventListener(failure, () => reject(request.error))
  })
const opening = indexedDB.open(`holdfast-${model}`, 1)
opening.addEventListener("upgradeneeded", () => opening.result.createObjectStore("turns"))
const database = await settled(opening, "success")

/** `strict`: a value that was put is on disk. */
const store = {
  get: (key) => settled(database.transaction("turns").objectStore("turns").get(key), "success"),
  put: (key, value) => {
    const transaction = database.transaction("turns", "readwrite", { durability: "strict" })
    transaction.objectStore("turns").put(value, key)
    return settled(transaction, "complete")
  },
  list: async (prefix) => {
    const objects = database.transaction("turns").objectStore("turns")
    const range = IDBKeyRange.bound(prefix, `${prefix}\uffff`)
    const keys = settled(objects.getAllKeys(range), "success")
    const values = await settled(objects.getAll(range), "success")
    return (await keys).map((key, i) => [key, values[i]])
  }
}

if (life === "cut") await print(await cutCall(url))
else await scenario({ life, model, print, store, url })
await print("over")
