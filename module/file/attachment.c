// SPDX-License-Identifier: GPL-2.0
/*
 * Attachment: one section that a client has attached to a file, to all files
 * with the same build ID and executable segments, or to addresses of a process.
 */
#include <linux/err.h>
#include <linux/sframe_unwind.h>
#include <linux/slab.h>
#include <linux/string.h>

#include "attach_file.h"
#include "attachment.h"
#include "counters.h"
#include "image.h"
#include "limits.h"
#include "message.h"
#include "noted.h"
#include "payer.h"
#include "pin.h"

static struct sfu_image *make_image(struct sfu_attach_spec *spec,
				    const struct sfu_elf *elf,
				    struct sfu_message *message)
{
	struct sfu_defect defect = {};
	struct sfu_image *image;
	int err;

	if (!sfu_image_can_read(spec->sframe)) {
		err = sfu_message_fail(message, -EBADF,
				       "sframe_fd is not a regular file open for reading");
		return ERR_PTR(err);
	}
	image = sfu_image_create(spec->sframe, spec->sframe_offset,
				 spec->sframe_size, 0,
				 spec->max_memory,
				 spec->flags & SFRAME_UNWIND_ATTACH_EXTENDED,
				 &defect, message);
	spec->defect_offset = defect.offset;
	if (IS_ERR(image))
		return image;
	err = sfu_image_validate(image, elf, &defect);
	if (!err && spec->range.is_final) {
		err = sfu_noted_fill(image, spec->code, spec->max_memory,
				     message);
		if (err) {
			sfu_image_put(image);
			return ERR_PTR(err);
		}
	}
	if (!err)
		return image;
	spec->defect_offset = defect.offset;
	sfu_image_put(image);
	if (err == -EINTR)
		return ERR_PTR(sfu_message_fail(message, err, "killed"));
	return ERR_PTR(sfu_message_fail(message, err, "section: %s (offset 0x%llx)",
					sfu_defect_text(defect.kind),
					defect.offset));
}

/* Fill @attachment from @spec and the file's headers. Returns 0 or -ENOMEM. */
static int fill_attachment(struct sfu_attachment *attachment,
			   const struct sfu_attach_spec *spec,
			   const struct sfu_elf *elf)
{
	attachment->flags = spec->flags;
	attachment->build_id_size = elf->build_id_size;
	memcpy(attachment->build_id, elf->build_id, elf->build_id_size);
	attachment->memory = sizeof(*attachment);
	attachment->entry.range = spec->range;
	if (spec->range.end)
		return 0;
	attachment->file_key = sfu_attach_key(elf);
	attachment->entry.key = attachment->file_key;
	attachment->entry.is_preferred =
		spec->flags & SFRAME_UNWIND_ATTACH_PREFER;
	if (!(spec->flags & SFRAME_UNWIND_ATTACH_INODE) && elf->build_id_size)
		return 0;
	attachment->pin = sfu_pin_get(sfu_attach_inode(spec));
	if (!attachment->pin)
		return -ENOMEM;
	attachment->memory += SFU_PIN_MEMORY;
	attachment->entry.key =
		sfu_attach_inode_key(attachment->file_key,
				     sfu_pin_number(attachment->pin));
	return 0;
}

/* Charge attachment->memory to the current user. Returns 0 or -ENOMEM. */
static int charge_attachment(struct sfu_attachment *attachment)
{
	attachment->payer = sfu_payer_get_current();
	if (!attachment->payer)
		return -ENOMEM;
	if (!sfu_payer_charge(attachment->payer, attachment->memory, false))
		return 0;
	sfu_payer_put(attachment->payer);
	return -ENOMEM;
}

struct sfu_attachment *sfu_attachment_create(struct sfu_attach_spec *spec,
					     const struct sfu_elf *elf,
					     struct sfu_attach_table *table,
					     struct sfu_image *image,
					     struct sfu_message *message)
{
	struct sfu_attachment *attachment;
	int err;

	attachment = kzalloc(sizeof(*attachment), GFP_KERNEL_ACCOUNT);
	if (!attachment) {
		err = sfu_message_fail(message, -ENOMEM, "no memory");
		goto err_image;
	}
	err = fill_attachment(attachment, spec, elf) ?:
	      charge_attachment(attachment);
	if (err) {
		sfu_message_fail(message, err,
				 "no memory, or more than RLIMIT_MEMLOCK allows");
		goto err_pin;
	}
	if (!image)
		image = make_image(spec, elf, message);
	if (IS_ERR(image)) {
		err = PTR_ERR(image);
		image = NULL;
		goto err_payer;
	}
	attachment->entry.image = image;
	attachment->table = table;
	sfu_count(SFU_ATTACHMENTS);
	return attachment;

err_payer:
	sfu_payer_uncharge(attachment->payer, attachment->memory);
	sfu_payer_put(attachment->payer);
err_pin:
	sfu_pin_put(attachment->pin, NULL);
	kfree(attachment);
err_image:
	if (image)
		sfu_image_empty(image);
	sfu_image_put(image);
	sfu_attach_table_put(table);
	return ERR_PTR(err);
}

void sfu_attachment_destroy(struct sfu_attachment *attachment)
{
	struct sfu_image *image = attachment->entry.image;

	sfu_image_empty(image);
	sfu_image_put(image);
	sfu_payer_uncharge(attachment->payer, attachment->memory);
	sfu_pin_put(attachment->pin, attachment->payer);
	sfu_payer_put(attachment->payer);
	sfu_attach_table_put(attachment->table);
	sfu_uncount(SFU_ATTACHMENTS);
	kfree(attachment);
}
