using Workerd = import "/workerd/workerd.capnp";

const config :Workerd.Config = (
  services = [
    (name = "main", worker = .worker),
    (name = "storage", disk = (path = "STORAGE", writable = true)),
    (name = "internet", network = (allow = ["private", "public"]))
  ],
  sockets = [(name = "http", address = "127.0.0.1:0", http = (), service = "main")]
);

# Without any compatibility flag.
const worker :Workerd.Worker = (
  modules = [(name = "worker", esModule = embed "worker.js")],
  compatibilityDate = "2026-11-01",
  durableObjectNamespaces = [
    (className = "Resident", uniqueKey = "resident", enableSql = true),
    (className = "Alarmed", uniqueKey = "alarmed", enableSql = true)
  ],
  durableObjectStorage = (localDisk = "storage"),
  bindings = [
    (name = "RESIDENT", durableObjectNamespace = "Resident"),
    (name = "ALARMED", durableObjectNamespace = "Alarmed")
  ]
);
