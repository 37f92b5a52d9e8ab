#!/usr/bin/env python3
"""Manifests hold to the least that a job needs: kubernetes.py [FOLDER]

Of each workload in FOLDER (default: deploy/kubernetes) every pod must run as
somebody, without privileges, capabilities, tokens of the cluster or a writable
root; may have no part of the node but read-only folders below /run; is bounded
in time and resources; and names no secret. What is not known of a workload is
refused, so that a typing mistake does not pass as a rule that holds.
Prints each violation as file: place: what, and exits 1 if there is one.
"""

import pathlib
import sys

import yaml

TOP = {"apiVersion", "kind", "metadata", "spec"}
CRON_SPEC = {
    "schedule", "concurrencyPolicy", "startingDeadlineSeconds", "jobTemplate",
    "successfulJobsHistoryLimit", "failedJobsHistoryLimit", "timeZone",
}
JOB_SPEC = {
    "backoffLimit", "activeDeadlineSeconds", "ttlSecondsAfterFinished", "template",
}
POD_SPEC = {
    "restartPolicy", "automountServiceAccountToken", "enableServiceLinks",
    "nodeSelector", "securityContext", "containers", "volumes",
}
CONTAINER = {
    "name", "image", "env", "securityContext", "resources", "volumeMounts",
}
POD_SECURITY = {
    "runAsNonRoot", "runAsUser", "runAsGroup", "fsGroup", "seccompProfile",
}
CONTAINER_SECURITY = {
    "allowPrivilegeEscalation", "privileged", "readOnlyRootFilesystem",
    "capabilities",
}
SECRET_WORDS = ("secret", "token", "password", "credential", "api_key")


class Manifest:
    def __init__(self):
        self.found = []

    def refuse(self, place, what):
        self.found.append(f"{place}: {what}")

    def keys(self, place, value, known):
        """The mapping, or an empty one; what is not known is refused."""
        if not isinstance(value, dict):
            self.refuse(place, "is missing or no mapping")
            return {}
        for key in sorted(set(value) - known):
            self.refuse(f"{place}.{key}", "is not known here")
        return value

    def want(self, place, value, wanted):
        if value != wanted or isinstance(value, bool) != isinstance(wanted, bool):
            self.refuse(place, f"is {value!r}; must be {wanted!r}")

    def positive(self, place, value):
        if not isinstance(value, int) or isinstance(value, bool) or value < 1:
            self.refuse(place, f"is {value!r}; must be a whole number above 0")

    def document(self, document):
        top = self.keys("", document, TOP)
        self.want("apiVersion", top.get("apiVersion"), "batch/v1")
        self.want("kind", top.get("kind"), "CronJob")
        metadata = self.keys(
            "metadata", top.get("metadata"), {"name", "namespace", "labels"}
        )
        if not metadata.get("name"):
            self.refuse("metadata.name", "is missing")
        spec = self.keys("spec", top.get("spec"), CRON_SPEC)
        schedule = spec.get("schedule")
        if not isinstance(schedule, str) or len(schedule.split()) != 5:
            self.refuse("spec.schedule", f"is {schedule!r}; must have five fields")
        self.want("spec.concurrencyPolicy", spec.get("concurrencyPolicy"), "Forbid")
        template = self.keys("spec.jobTemplate", spec.get("jobTemplate"), {"spec"})
        place = "spec.jobTemplate.spec"
        job = self.keys(place, template.get("spec"), JOB_SPEC)
        self.positive(
            f"{place}.activeDeadlineSeconds", job.get("activeDeadlineSeconds")
        )
        place += ".template"
        pod = self.keys(place, job.get("template"), {"metadata", "spec"})
        self.pod(f"{place}.spec", pod.get("spec"))

    def pod(self, place, value):
        pod = self.keys(place, value, POD_SPEC)
        self.want(f"{place}.restartPolicy", pod.get("restartPolicy"), "Never")
        self.want(
            f"{place}.automountServiceAccountToken",
            pod.get("automountServiceAccountToken"), False,
        )
        at = f"{place}.securityContext"
        security = self.keys(at, pod.get("securityContext"), POD_SECURITY)
        self.want(f"{at}.runAsNonRoot", security.get("runAsNonRoot"), True)
        self.positive(f"{at}.runAsUser", security.get("runAsUser"))
        self.want(
            f"{at}.seccompProfile", security.get("seccompProfile"),
            {"type": "RuntimeDefault"},
        )
        writable = self.volumes(f"{place}.volumes", pod.get("volumes") or [])
        containers = pod.get("containers")
        if not isinstance(containers, list) or not containers:
            self.refuse(f"{place}.containers", "is missing or empty")
            return
        for index, container in enumerate(containers):
            self.container(f"{place}.containers[{index}]", container, writable)

    def volumes(self, place, volumes):
        """Whether each volume may be written to, by name."""
        writable = {}
        for index, value in enumerate(volumes):
            at = f"{place}[{index}]"
            volume = self.keys(at, value, {"name", "emptyDir", "hostPath"})
            node = "hostPath" in volume
            writable[volume.get("name")] = not node
            if node:
                host = self.keys(f"{at}.hostPath", volume["hostPath"], {"path", "type"})
                path = str(host.get("path"))
                if not path.startswith("/run/") or ".." in path.split("/"):
                    self.refuse(f"{at}.hostPath.path", f"is {path}; only below /run")
                self.want(f"{at}.hostPath.type", host.get("type"), "Directory")
            else:
                empty = self.keys(f"{at}.emptyDir", volume.get("emptyDir"), {"sizeLimit"})
                if "sizeLimit" not in empty:
                    self.refuse(f"{at}.emptyDir.sizeLimit", "is missing")
        return writable

    def container(self, place, value, writable):
        container = self.keys(place, value, CONTAINER)
        image = str(container.get("image", ""))
        tag = image.rpartition("/")[2].rpartition(":")[2] if ":" in image else ""
        if tag in ("", "latest"):
            self.refuse(f"{place}.image", f"is {image!r}; must name a version")
        at = f"{place}.securityContext"
        security = self.keys(at, container.get("securityContext"), CONTAINER_SECURITY)
        for key, wanted in (
            ("allowPrivilegeEscalation", False), ("privileged", False),
            ("readOnlyRootFilesystem", True), ("capabilities", {"drop": ["ALL"]}),
        ):
            self.want(f"{at}.{key}", security.get(key), wanted)
        resources = self.keys(
            f"{place}.resources", container.get("resources"), {"requests", "limits"}
        )
        for key in ("cpu", "memory", "ephemeral-storage"):
            if key not in (resources.get("limits") or {}):
                self.refuse(f"{place}.resources.limits.{key}", "is missing")
        for index, value in enumerate(container.get("env") or []):
            at = f"{place}.env[{index}]"
            entry = self.keys(at, value, {"name", "value"})
            name = str(entry.get("name", ""))
            if any(word in name.lower() for word in SECRET_WORDS):
                self.refuse(at, f"{name} looks like a secret")
            if not isinstance(entry.get("value"), str):
                self.refuse(at, "has no text as its value")
        for index, value in enumerate(container.get("volumeMounts") or []):
            at = f"{place}.volumeMounts[{index}]"
            mount = self.keys(at, value, {"name", "mountPath", "readOnly"})
            name = mount.get("name")
            if name not in writable:
                self.refuse(at, f"{name!r} is no volume")
            elif not writable[name]:
                self.want(f"{at}.readOnly", mount.get("readOnly"), True)


def violations(folder):
    files = sorted(pathlib.Path(folder).glob("*.y*ml"))
    if not files:
        yield f"{folder}: has no manifest"
    for file in files:
        try:
            documents = list(yaml.safe_load_all(file.read_text(encoding="utf-8")))
        except yaml.YAMLError as error:
            yield f"{file.name}: is no YAML: {error}"
            continue
        for document in documents:
            manifest = Manifest()
            manifest.document(document)
            for one in manifest.found:
                yield f"{file.name}: {one}"


def main():
    default = pathlib.Path(__file__).resolve().parents[2] / "deploy" / "kubernetes"
    found = list(violations(sys.argv[1] if len(sys.argv) > 1 else default))
    for violation in found:
        print(violation)
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
