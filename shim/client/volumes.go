package client

import (
	"cmp"

	flatbuffers "github.com/google/flatbuffers/go"
	v1 "k8s.io/api/core/v1"

	"headroom.dev/shim/wire"
)

// disk is one that a volume names itself, in-tree: the field's name in Kubernetes, and which disk it is.
type disk struct {
	kind, id string
	monitors []string
	readOnly bool
}

// diskOf is the volume's; false: it names none. As objects/disk_kinds.h has them.
func diskOf(volume *v1.VolumeSource) (disk, bool) {
	switch {
	case volume.GCEPersistentDisk != nil:
		return disk{kind: "gcePersistentDisk", id: volume.GCEPersistentDisk.PDName, readOnly: volume.GCEPersistentDisk.ReadOnly}, true
	case volume.AWSElasticBlockStore != nil:
		return disk{kind: "awsElasticBlockStore", id: volume.AWSElasticBlockStore.VolumeID, readOnly: volume.AWSElasticBlockStore.ReadOnly}, true
	case volume.AzureDisk != nil:
		return disk{kind: "azureDisk", id: volume.AzureDisk.DataDiskURI, readOnly: isTrue(volume.AzureDisk.ReadOnly)}, true
	case volume.Cinder != nil:
		return disk{kind: "cinder", id: volume.Cinder.VolumeID, readOnly: volume.Cinder.ReadOnly}, true
	case volume.PortworxVolume != nil:
		return disk{kind: "portworxVolume", id: volume.PortworxVolume.VolumeID, readOnly: volume.PortworxVolume.ReadOnly}, true
	case volume.AzureFile != nil:
		return disk{kind: "azureFile", id: volume.AzureFile.ShareName, readOnly: volume.AzureFile.ReadOnly}, true
	case volume.VsphereVolume != nil:
		return disk{kind: "vsphereVolume", id: volume.VsphereVolume.VolumePath}, true
	case volume.ISCSI != nil:
		return disk{kind: "iscsi", id: volume.ISCSI.IQN, readOnly: volume.ISCSI.ReadOnly}, true
	case volume.RBD != nil:
		return disk{kind: "rbd", id: rbdImage(volume.RBD.RBDPool, volume.RBD.RBDImage),
			monitors: volume.RBD.CephMonitors, readOnly: volume.RBD.ReadOnly}, true
	}
	return disk{}, false
}

func rbdImage(pool, image string) string {
	if pool == "" {
		pool = "rbd"
	}
	return pool + "/" + image
}

func isTrue(value *bool) bool { return value != nil && *value }

// volumes are those that have a claim, an image or a disk.
func (e *encoder) volumes(list []v1.Volume) flatbuffers.UOffsetT {
	mark := e.mark()
	for i := range list {
		source := &list[i].VolumeSource
		its, named := diskOf(source)
		reference := ""
		if source.Image != nil {
			reference = cmp.Or(source.Image.Reference, ":latest") // as ImageLocality names it
		}
		if source.PersistentVolumeClaim == nil && source.Ephemeral == nil && reference == "" && !named {
			continue
		}
		name := e.optional(list[i].Name)
		image := e.optional(reference)
		var claim, of flatbuffers.UOffsetT
		if source.PersistentVolumeClaim != nil {
			claim = e.string(source.PersistentVolumeClaim.ClaimName) // absent differs from empty
		}
		if named {
			of = e.disk(&its)
		}
		wire.VolumeStart(e.b)
		wire.VolumeAddName(e.b, name)
		wire.VolumeAddClaim(e.b, claim)
		wire.VolumeAddEphemeral(e.b, source.Ephemeral != nil)
		wire.VolumeAddImage(e.b, image)
		wire.VolumeAddDisk(e.b, of)
		e.push(wire.VolumeEnd(e.b))
	}
	if e.mark() == mark {
		return 0
	}
	return e.vector(mark)
}

func (e *encoder) disk(its *disk) flatbuffers.UOffsetT {
	kind := e.string(its.kind)
	id := e.optional(its.id)
	monitors := e.strings(its.monitors)
	wire.DiskStart(e.b)
	wire.DiskAddKind(e.b, kind)
	wire.DiskAddId(e.b, id)
	wire.DiskAddMonitors(e.b, monitors)
	wire.DiskAddReadOnly(e.b, its.readOnly)
	return wire.DiskEnd(e.b)
}
